// SPDX-License-Identifier: Apache-2.0

// Does a piece of work that only one program at a time may do, and renews the lease meanwhile.
//
// The address is that of $LEASED_ENDPOINT, by default 127.0.0.1:7777. README.md beside it says how the
// package leasev1 is made.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	leasev1 "mindd/mindd/lease/v1"
)

const (
	namespace = "locks"
	key       = "example/go"
	ttl       = 3 * time.Second
)

// acquire waits in line for up to a minute. A repeated attempt carries the same request id, so that
// an answer that was lost on the way does not leave a lease nobody knows of.
func acquire(ctx context.Context, client leasev1.LeaseClient) (*leasev1.LeaseHandle, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	for end := time.Now().Add(time.Minute); ; {
		wait := max(time.Until(end), 0)
		attempt, cancel := context.WithTimeout(ctx, wait+5*time.Second)
		answer, err := client.Acquire(attempt, &leasev1.AcquireRequest{
			Namespace: namespace, Key: key, RequestId: hex.EncodeToString(id),
			Ttl: durationpb.New(ttl), WaitFor: durationpb.New(wait),
			Metadata: map[string]string{"program": "example/go"}})
		cancel()
		if status.Code(err) != codes.Unavailable || wait == 0 {
			return answer.GetHandle(), err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// keep renews until ctx is done, and calls lost before the lease can pass to another: the deadline is
// counted from before the last answered request was sent, held being the first such moment.
// (time.Time does not count suspended time; where machines sleep, read CLOCK_BOOTTIME.)
func keep(ctx context.Context, client leasev1.LeaseClient, handle *leasev1.LeaseHandle, held time.Time,
	lost context.CancelCauseFunc) {
	deadline := held.Add(ttl - ttl/10)
	pause := ttl / 3
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(pause, time.Until(deadline))):
		}
		if time.Now().After(deadline) {
			lost(fmt.Errorf("the lease could not be renewed in time"))
			return
		}
		sent := time.Now()
		attempt, cancel := context.WithDeadline(ctx, deadline)
		_, err := client.Renew(attempt, &leasev1.RenewRequest{HolderId: handle.HolderId,
			Namespace: namespace, Key: key, Ttl: durationpb.New(ttl)})
		cancel()
		switch {
		case err == nil:
			deadline, pause = sent.Add(ttl-ttl/10), ttl/3
		case status.Code(err) == codes.FailedPrecondition:
			lost(err)
			return
		default: // says nothing about the lease: again, soon
			pause = 100 * time.Millisecond
		}
	}
}

func work(ctx context.Context, token uint64) error {
	for step := 1; step <= 4; step++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Printf("step %d, fencing token %d\n", step, token)
		time.Sleep(ttl / 3)
	}
	return nil
}

func run() error {
	address := os.Getenv("LEASED_ENDPOINT")
	if address == "" {
		address = "127.0.0.1:7777"
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second,
			Timeout: 10 * time.Second, PermitWithoutStream: true}))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := leasev1.NewLeaseClient(conn)

	ctx, lost := context.WithCancelCause(context.Background())
	defer lost(nil)
	handle, err := acquire(ctx, client)
	if err != nil {
		return err
	}
	// The wait may have used up the term: one renewal makes sure where it starts.
	sent := time.Now()
	if _, err := client.Renew(ctx, &leasev1.RenewRequest{HolderId: handle.HolderId,
		Namespace: namespace, Key: key, Ttl: durationpb.New(ttl)}); err != nil {
		return err
	}
	go keep(ctx, client, handle, sent, lost)
	result := work(ctx, handle.FencingToken)

	farewell, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := client.Release(farewell, &leasev1.ReleaseRequest{HolderId: handle.HolderId,
		Namespace: namespace, Key: key}); err != nil {
		log.Printf("not released, it ends by itself: %v", err)
	}
	return result
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("done")
}
