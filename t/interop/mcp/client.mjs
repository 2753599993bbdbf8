// SPDX-License-Identifier: Apache-2.0
// leasectl mcp, driven by the protocol's own SDK: client.mjs LEASECTL, address in LEASED_ADDRESS.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [leasectl] = process.argv.slice(2);
const env = { ...process.env, LEASED_ENDPOINT: process.env.LEASED_ADDRESS };

async function connect(name) {
  const transport = new StdioClientTransport({ command: leasectl, args: ["mcp"], env, stderr: "inherit" });
  const client = new Client({ name, version: "1.0.0" });
  await client.connect(transport);
  return client;
}

let count = 0;
async function test(name, body) {
  count += 1;
  try {
    await body();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    console.log(`not ok ${count} - ${name}\n# ${String(error.stack).replaceAll("\n", "\n# ")}`);
    process.exitCode = 1;
  }
}

const tool = (client, name, args, options) =>
  client.callTool({ name, arguments: args }, undefined, options);
const text = (result) => result.content.map((part) => part.text).join("\n");
async function until(what, condition) {
  for (const end = Date.now() + 10000; Date.now() < end;) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not within 10 s: ${what}`);
}

const [one, two] = await Promise.all([connect("agent-one"), connect("agent-two")]);
const names = (await one.listTools()).tools.map((each) => each.name);
const find = (verb) => names.find((name) => name.includes(verb));
const [ACQUIRE, RENEW, RELEASE, INSPECT, LIST] = ["acquire", "renew", "release", "inspect", "list"].map(find);
const place = (key) => ({ namespace: "locks", key });

await test("the server says who it is", async () => {
  assert.match(one.getServerVersion().name, /lease/);
  assert.ok(one.getServerCapabilities().tools);
  await one.ping();
});
await test("there is a tool for each call, with a schema", async () => {
  const { tools } = await one.listTools();
  assert.equal([ACQUIRE, RENEW, RELEASE, INSPECT, LIST].filter(Boolean).length, 5, names.join());
  for (const each of tools) {
    assert.equal(each.inputSchema.type, "object");
    assert.ok(each.description.length > 20, each.name);
  }
});
await test("a lease is taken, shown, renewed, listed and given back", async () => {
  const taken = await tool(one, ACQUIRE, { ...place("src/a.c"), ttl: "60s" });
  assert.ok(!taken.isError, text(taken));
  assert.ok(!(await tool(one, INSPECT, place("src/a.c"))).isError);
  const listed = await tool(two, LIST, { namespace: "locks" });
  assert.match(text(listed), /src\/a\.c/);
  assert.ok(!(await tool(one, RENEW, { ...place("src/a.c"), ttl: "90s" })).isError);
  assert.ok(!(await tool(one, RELEASE, place("src/a.c"))).isError);
  assert.doesNotMatch(text(await tool(two, LIST, { namespace: "locks" })), /src\/a\.c/);
});
await test("a refusal is told to the agent and says what to do", async () => {
  assert.ok(!(await tool(one, ACQUIRE, { ...place("main"), ttl: "60s" })).isError);
  const refused = await tool(two, ACQUIRE, { ...place("main"), ttl: "60s" });
  assert.ok(refused.isError);
  assert.match(text(refused), /held/i);
  await tool(one, RELEASE, place("main"));
});
await test("a wait is granted by the other's release", async () => {
  assert.ok(!(await tool(one, ACQUIRE, { ...place("wait"), ttl: "60s" })).isError);
  const waiting = tool(two, ACQUIRE, { ...place("wait"), ttl: "60s", wait: "20s" });
  await until("it waits", async () => (await tool(one, INSPECT, place("wait"))).structuredContent.waiters === 1);
  await tool(one, RELEASE, place("wait"));
  assert.ok(!(await waiting).isError);
  await tool(two, RELEASE, place("wait"));
});
await test("a wait that the client cancels ends and leaves no lease", async () => {
  assert.ok(!(await tool(one, ACQUIRE, { ...place("cancel"), ttl: "60s" })).isError);
  const stop = new AbortController();
  const waiting = tool(two, ACQUIRE, { ...place("cancel"), ttl: "60s", wait: "60s" },
                       { signal: stop.signal });
  setImmediate(() => stop.abort());
  await assert.rejects(waiting);
  await tool(one, RELEASE, place("cancel"));
  assert.ok(!(await tool(one, ACQUIRE, { ...place("cancel"), ttl: "60s", wait: "5s" })).isError);
});
await test("an unknown tool and wrong arguments are errors and no end", async () => {
  const unknown = await tool(one, "no_such_tool", {}).catch((error) => ({ isError: true, error }));
  assert.ok(unknown.isError);
  const wrong = await tool(one, ACQUIRE, { key: 5 }).catch((error) => ({ isError: true, error }));
  assert.ok(wrong.isError);
  await one.ping();
});
await test("the end of a session gives its leases back", async () => {
  assert.ok(!(await tool(one, ACQUIRE, { ...place("session"), ttl: "600s" })).isError);
  await one.close();
  const taken = await tool(two, ACQUIRE, { ...place("session"), ttl: "60s", wait: "10s" });
  assert.ok(!taken.isError, text(taken));
});
await two.close();
console.log(`1..${count}`);
