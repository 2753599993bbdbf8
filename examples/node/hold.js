// SPDX-License-Identifier: Apache-2.0
// Does a piece of work that only one program at a time may do, and renews the lease meanwhile.
//
//   node hold.js DIRECTORY      the directory with mindd/lease/v1/lease.proto
//
// The address is that of $LEASED_ENDPOINT, by default 127.0.0.1:7777.
'use strict';
const crypto = require('crypto');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const TTL = 3000;  // milliseconds, as all times here
const NAME = {namespace: 'locks', key: 'example/node'};

const definition = loader.loadSync('mindd/lease/v1/lease.proto',
  {includeDirs: [process.argv[2]], longs: String});
const {Lease} = grpc.loadPackageDefinition(definition).mindd.lease.v1;
const client = new Lease(process.env.LEASED_ENDPOINT || '127.0.0.1:7777',
  grpc.credentials.createInsecure(), {
    'grpc.keepalive_time_ms': 30000,
    'grpc.keepalive_timeout_ms': 10000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_reconnect_backoff_ms': 1000,
  });

const duration = (ms) => ({seconds: Math.floor(ms / 1000), nanos: Math.floor(ms % 1000) * 1e6});
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// process.hrtime does not count suspended time; where machines sleep, that must be added.
const now = () => Number(process.hrtime.bigint() / 1000000n);

function call(method, request, patience) {
  return new Promise((resolve, reject) => client[method](request,
    {deadline: Date.now() + patience}, (error, answer) => error ? reject(error) : resolve(answer)));
}

// Waits in line for up to a minute. A repeated attempt carries the same request id, so that an answer
// that was lost on the way does not leave a lease nobody knows of.
async function acquire() {
  const requestId = crypto.randomUUID();
  for (const end = now() + 60000;;) {
    const wait = Math.max(end - now(), 0);
    try {
      const request = {...NAME, requestId, ttl: duration(TTL), waitFor: duration(wait),
        metadata: {program: 'example/node'}};
      return (await call('acquire', request, wait + 5000)).handle;
    } catch (error) {
      if (error.code !== grpc.status.UNAVAILABLE || wait === 0) throw error;
      await sleep(200);
    }
  }
}

// A lease with a local deadline, counted from before the last answered request was sent: it passes
// before the lease can belong to anybody else.
class Held {
  constructor(handle) {
    this.handle = handle;
    this.holder = {...NAME, holderId: handle.holderId};
    this.deadline = 0;
  }

  check() {
    if (now() >= this.deadline) throw new Error('the lease is lost');
  }

  async renew(patience) {
    const sent = now();
    await call('renew', {...this.holder, ttl: duration(TTL)}, patience);
    this.deadline = sent + TTL - TTL / 10;
  }

  // Renews until told to stop. What says nothing about the lease is tried again, soon.
  async keep() {
    for (let pause = TTL / 3; !this.stopped; await sleep(pause)) {
      if (now() >= this.deadline) return;
      try {
        await this.renew(this.deadline - now());
        pause = TTL / 3;
      } catch (error) {
        if (error.code === grpc.status.FAILED_PRECONDITION) this.deadline = 0;
        pause = 100;
      }
    }
  }

  async release() {
    this.stopped = true;
    await call('release', this.holder, 2000).catch(() => {});  // else it ends by itself
  }
}

async function main() {
  const lease = new Held(await acquire());
  try {
    await lease.renew(5000);  // the wait may have used up the term
    lease.keep();
    for (let step = 1; step <= 4; step++) {
      lease.check();
      console.log(`step ${step}, fencing token ${lease.handle.fencingToken}`);
      await sleep(TTL / 3);
    }
    lease.check();
  } finally {
    await lease.release();
  }
  console.log('done');
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
}).finally(() => client.close());
