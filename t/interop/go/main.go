// SPDX-License-Identifier: Apache-2.0

// One test a line, in TAP: what a Go client sees.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	leasev1 "mindd/mindd/lease/v1"
)

func connect() leasev1.LeaseClient {
	conn, err := grpc.NewClient(os.Getenv("LEASED_ADDRESS"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	return leasev1.NewLeaseClient(conn)
}

func within() context.Context {
	ctx, _ := context.WithTimeout(context.Background(), 30*time.Second) //nolint
	return ctx
}

func ask(key string, ttl, wait time.Duration) *leasev1.AcquireRequest {
	request := &leasev1.AcquireRequest{Namespace: "locks", Key: key, Ttl: durationpb.New(ttl)}
	if wait > 0 {
		request.WaitFor = durationpb.New(wait)
	}
	return request
}

func round(client leasev1.LeaseClient) error {
	answer, err := client.Acquire(within(), ask("go", time.Minute, 0))
	if err != nil {
		return err
	}
	handle := answer.GetHandle()
	renewed, err := client.Renew(within(), &leasev1.RenewRequest{HolderId: handle.HolderId,
		Namespace: "locks", Key: "go", Ttl: durationpb.New(5 * time.Minute)})
	if err != nil {
		return err
	}
	if left := renewed.Handle.ExpiresAt.AsTime().Sub(renewed.Handle.AcquiredAt.AsTime()); left <
		5*time.Minute {
		return fmt.Errorf("renewed to %v only", left)
	}
	seen, err := client.Inspect(within(), &leasev1.InspectRequest{Namespace: "locks", Key: "go"})
	if err != nil || !seen.Held || seen.Handle.HolderId != handle.HolderId {
		return fmt.Errorf("inspect: %v %v", seen, err)
	}
	list, err := client.List(within(), &leasev1.ListRequest{Namespace: "locks"})
	if err != nil || len(list.Leases) != 1 {
		return fmt.Errorf("list: %v %v", list, err)
	}
	release := &leasev1.ReleaseRequest{HolderId: handle.HolderId, Namespace: "locks", Key: "go"}
	for _, existed := range []bool{true, false} {
		gone, err := client.Release(within(), release)
		if err != nil || gone.Existed != existed {
			return fmt.Errorf("release: %v %v", gone, err)
		}
	}
	return nil
}

func details(client leasev1.LeaseClient) error {
	if _, err := client.Acquire(within(), ask("held", time.Minute, 0)); err != nil {
		return err
	}
	_, err := client.Acquire(within(), ask("held", time.Minute, 0))
	answer := status.Convert(err)
	if answer.Code() != codes.FailedPrecondition || answer.Message() != "already held" {
		return fmt.Errorf("status %v", answer)
	}
	var info *errdetails.ErrorInfo
	var retry *errdetails.RetryInfo
	for _, detail := range answer.Details() {
		switch known := detail.(type) {
		case *errdetails.ErrorInfo:
			info = known
		case *errdetails.RetryInfo:
			retry = known
		default:
			return fmt.Errorf("unexpected detail %v", detail)
		}
	}
	if info == nil || info.Reason != "LEASE_HELD" || info.Domain != "lease.mindd.dev" {
		return fmt.Errorf("info %v", info)
	}
	if retry == nil || retry.RetryDelay.AsDuration() > time.Minute {
		return fmt.Errorf("retry %v", retry)
	}
	return nil
}

func names(client leasev1.LeaseClient) error {
	_, err := client.Inspect(within(), &leasev1.InspectRequest{Namespace: "nö 😀 %", Key: "k"})
	if answer := status.Convert(err); answer.Code() != codes.NotFound ||
		answer.Message() != "namespace \"nö 😀 %\" not configured" {
		return fmt.Errorf("status %v", answer)
	}
	return nil
}

func handOver(client leasev1.LeaseClient) error {
	first, err := client.Acquire(within(), ask("w", time.Minute, 0))
	if err != nil {
		return err
	}
	granted := make(chan error, 1)
	go func() {
		_, err := connect().Acquire(within(), ask("w", time.Minute, 20*time.Second))
		granted <- err
	}()
	for {
		seen, err := client.Inspect(within(), &leasev1.InspectRequest{Namespace: "locks", Key: "w"})
		if err != nil {
			return err
		}
		if seen.Waiters == 1 {
			break
		}
	}
	if _, err := client.Release(within(), &leasev1.ReleaseRequest{
		HolderId: first.Handle.HolderId, Namespace: "locks", Key: "w"}); err != nil {
		return err
	}
	return <-granted
}

func main() {
	client, wrong := connect(), 0
	for _, test := range []struct {
		name string
		run  func(leasev1.LeaseClient) error
	}{
		{"acquire, renew, inspect, list, release", round},
		{"the details of an error are decoded", details},
		{"names that are not ASCII come back in errors", names},
		{"a waiter on another connection is granted on release", handOver},
	} {
		if err := test.run(client); err != nil {
			fmt.Printf("not ok - %s\n# %v\n", test.name, err)
			wrong = 1
		} else {
			fmt.Printf("ok - %s\n", test.name)
		}
	}
	os.Exit(wrong)
}
