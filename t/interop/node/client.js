// SPDX-License-Identifier: Apache-2.0
// One test a line, in TAP: what a JavaScript client sees.
'use strict';
const assert = require('assert');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const definition = loader.loadSync('mindd/lease/v1/lease.proto', {
  includeDirs: [process.argv[2]], longs: String, keepCase: false, defaults: true,
});
const Lease = grpc.loadPackageDefinition(definition).mindd.lease.v1.Lease;
const connect = () => new Lease(process.env.LEASED_ADDRESS, grpc.credentials.createInsecure(),
  {'grpc.use_local_subchannel_pool': 1});
const client = connect();

function call(method, request, from = client) {
  return new Promise((resolve, reject) => {
    const deadline = Date.now() + 30000;
    from[method](request, {deadline}, (error, answer) => error ? reject(error) : resolve(answer));
  });
}

async function refused(method, request, code, text, from = client) {
  try {
    await call(method, request, from);
  } catch (error) {
    assert.strictEqual(error.code, code);
    if (text) assert.strictEqual(error.details, text);
    return error;
  }
  throw new Error('OK where a refusal was expected');
}

const tests = {
  'acquire, inspect, renew, list, release': async () => {
    const {handle} = await call('acquire', {
      namespace: 'locks', key: 'node', ttl: {seconds: 60}, metadata: {by: 'node'}});
    assert.match(handle.holderId, /^[0-9a-f-]{36}$/);
    const seen = await call('inspect', {namespace: 'locks', key: 'node'});
    assert.strictEqual(seen.held, true);
    assert.deepStrictEqual(seen.handle.metadata, {by: 'node'});
    const held = {holderId: handle.holderId, namespace: 'locks', key: 'node'};
    const renewed = await call('renew', {...held, ttl: {seconds: 300}});
    assert.strictEqual(renewed.handle.fencingToken, handle.fencingToken);
    const {leases} = await call('list', {namespace: 'locks'});
    assert.deepStrictEqual(leases.map((lease) => lease.key), ['node']);
    assert.strictEqual((await call('release', held)).existed, true);
    assert.strictEqual((await call('release', held)).existed, false);
  },
  'a held key is refused with details': async () => {
    const {handle} = await call('acquire', {namespace: 'locks', key: 'h', ttl: {seconds: 60}});
    const error = await refused('acquire', {namespace: 'locks', key: 'h', ttl: {seconds: 60}},
      grpc.status.FAILED_PRECONDITION, 'already held');
    const details = error.metadata.get('grpc-status-details-bin');
    assert.strictEqual(details.length, 1);
    assert.ok(details[0].includes('LEASE_HELD') && details[0].includes('lease.mindd.dev'));
    assert.ok(!details[0].includes(handle.holderId));
  },
  'arguments are judged': async () => {
    await refused('acquire', {namespace: 'locks', ttl: {seconds: 60}},
      grpc.status.INVALID_ARGUMENT, 'key required');
    await refused('acquire', {namespace: 'locks', key: 'k'},
      grpc.status.INVALID_ARGUMENT, 'ttl required and must be > 0');
    await refused('acquire', {namespace: 'nö 😀', key: 'k', ttl: {seconds: 1}},
      grpc.status.NOT_FOUND, 'namespace "nö 😀" not configured');
  },
  'a waiter on another connection is granted on release': async () => {
    const other = connect();
    const first = await call('acquire', {namespace: 'locks', key: 'w', ttl: {seconds: 60}});
    const waiting = call('acquire',
      {namespace: 'locks', key: 'w', ttl: {seconds: 60}, waitFor: {seconds: 20}}, other);
    for (;;) {
      const {waiters} = await call('inspect', {namespace: 'locks', key: 'w'});
      if (waiters === 1) break;
    }
    await call('release', {holderId: first.handle.holderId, namespace: 'locks', key: 'w'});
    const second = await waiting;
    assert.ok(BigInt(second.handle.fencingToken) > BigInt(first.handle.fencingToken));
    other.close();
  },
  'a cancelled wait leaves the queue': async () => {
    await call('acquire', {namespace: 'locks', key: 'c', ttl: {seconds: 60}});
    const outcome = new Promise((resolve) => {
      const pending = client.acquire({namespace: 'locks', key: 'c', ttl: {seconds: 60},
        waitFor: {seconds: 20}}, (error) => resolve(error));
      (async () => {
        while ((await call('inspect', {namespace: 'locks', key: 'c'})).waiters !== 1);
        pending.cancel();
      })();
    });
    assert.strictEqual((await outcome).code, grpc.status.CANCELLED);
    const end = Date.now() + 5000;
    while ((await call('inspect', {namespace: 'locks', key: 'c'})).waiters !== 0) {
      assert.ok(Date.now() < end, 'still queued');
    }
  },
};

(async () => {
  let wrong = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`ok - ${name}`);
    } catch (error) {
      wrong = 1;
      console.log(`not ok - ${name}\n# ${String(error.stack).replace(/\n/g, '\n# ')}`);
    }
  }
  client.close();
  process.exit(wrong);
})();
