import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Fault } from "../../../../src/errors.js";
import { keepTunnelOpen, type TunnelEvent, type TunnelOptions } from "../../../../src/flows/tunnel/keep-tunnel-open.js";
import type { TunnelEndpoint } from "../../../../src/flows/tunnel/port-forwarder.js";

const slept: number[] = [];
vi.mock("node:timers/promises", async (real) => {
  const { setTimeout } = await real<typeof import("node:timers/promises")>();
  return {
    setTimeout: (pause: number, ...rest: [undefined, object]) => {
      slept.push(pause);
      return setTimeout(pause, ...rest);
    },
  };
});

const lost = () => new Fault("connection-lost", "lost the connection to wolf");

/** An agent that echoes its input after the end of it. */
let agent: Server;
beforeEach(async () => {
  agent = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk));
    socket.on("end", () => socket.end(Buffer.concat(heard)));
  }).listen(0, "127.0.0.1");
  await once(agent, "listening");
});
afterEach(() => {
  vi.restoreAllMocks();
  agent.close();
});

/** A connection that leads to it, and can be cut. */
function wayThere(more: Partial<TunnelEndpoint> = {}) {
  let cut: (fault: Fault) => void = () => {};
  const ended = new Promise<Fault>((resolve) => {
    cut = resolve;
  });
  const roads: Duplex[] = [];
  const connection = { open: true };
  const open = async () => {
    const road = connect({ port: (agent.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
    await once(road, "connect");
    roads.push(road);
    return road as Duplex;
  };
  const way: TunnelEndpoint = { connection, open, ended, close: async () => {}, ...more };
  return {
    way,
    cut: () => {
      connection.open = false;
      // As ssh2 does it: open streams end as if complete.
      for (const road of roads) road.push(null);
      cut(lost());
    },
  };
}

/** A tunnel controlled by the test: its events, and how it is stopped. */
function tunnel(find: TunnelOptions["connect"], more: Partial<TunnelOptions> = {}) {
  const stop = new AbortController();
  const happened: TunnelEvent[] = [];
  const told = new EventEmitter();
  const done = keepTunnelOpen({
    local: { preferred: 0, next: "clm tunnel ada" },
    connect: find,
    tell: (happening) => {
      happened.push(happening);
      told.emit(happening.event, happening);
    },
    signal: stop.signal,
    pauses: { first: 1, longest: 5 },
    timeout: 300,
    ...more,
  });
  done.catch((error) => told.listenerCount("error") > 0 && told.emit("error", error));
  const event = async (name: TunnelEvent["event"]) => ((await once(told, name)) as [TunnelEvent])[0];
  return { stop: () => stop.abort(new Fault("interrupted", "stop")), happened, event, done };
}

const portOf = (happening: TunnelEvent) => ("port" in happening ? happening.port : 0);
const say = async (port: number, words: string): Promise<string> => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.end(words);
  return text(socket);
};
const events = (happened: TunnelEvent[]) => happened.map(({ event }) => event);

it("passes data in both directions, each to its end", async () => {
  const { happened, event, stop, done } = tunnel(async () => wayThere().way);
  const port = portOf(await event("open"));
  const all = Array.from({ length: 40 }, (_, index) => `${index} `.repeat(50_000));
  expect(await Promise.all(all.map((words) => say(port, words)))).toEqual(all);
  stop();
  await done;
  expect(events(happened)).toEqual(["open", "closed"]);
  await expect(say(port, "x")).rejects.toThrow("ECONNREFUSED");
});

it("is found again when it was lost, and looked for with patience", async () => {
  const first = wayThere();
  const answers = [
    first.way,
    new Fault("unreachable", "cannot reach wolf"),
    new Fault("unreachable", "cannot reach wolf"),
    new Fault("not-ready", "ada is stopped"),
    wayThere().way,
  ];
  const { happened, event, stop, done } = tunnel(async () => {
    const answer = answers.shift();
    if (!answer || answer instanceof Fault) throw answer;
    return answer;
  });
  const port = portOf(await event("open"));
  expect(await say(port, "one")).toBe("one");
  first.cut();
  await event("back");
  expect(await say(port, "two")).toBe("two");
  stop();
  await done;
  expect(events(happened)).toEqual(["open", "lost", "waiting", "waiting", "back", "closed"]);
});

it("a client connected at the loss gets a reset, not an end", async () => {
  const first = wayThere();
  const ways = [first.way, wayThere().way];
  const { event, stop, done } = tunnel(async () => ways.shift() as TunnelEndpoint);
  const port = portOf(await event("open"));
  const socket = connect({ port, host: "127.0.0.1" });
  socket.write("half of it");
  const [there] = await once(agent, "connection");
  await once(there, "data");
  const ended = text(socket);
  first.cut();
  await expect(ended).rejects.toThrow("ECONNRESET");
  stop();
  await done;
});

it("a client that connects during a loss waits a moment for the next connection", async () => {
  const first = wayThere();
  let find: TunnelOptions["connect"] = async () => first.way;
  const { event, stop, done } = tunnel(() => find());
  const port = portOf(await event("open"));
  let back = () => {};
  find = () =>
    new Promise((resolve) => {
      back = () => resolve(wayThere().way);
    });
  first.cut();
  await event("lost");
  await expect(say(port, "in vain")).rejects.toThrow("ECONNRESET");
  const heard = say(port, "in time");
  await new Promise((resolve) => setTimeout(resolve, 20));
  back();
  expect(await heard).toBe("in time");
  stop();
  await done;
});

it("a tunnel without traffic is checked again, and not reported as lost when it works", async () => {
  let refuse = true;
  const { way } = wayThere();
  const open = async () => {
    if (refuse) throw new Fault("remote-failed", "refused");
    return way.open();
  };
  let looks = 0;
  const { happened, event, stop, done } = tunnel(async () => {
    if (++looks > 1) refuse = false;
    return { ...way, open };
  });
  const port = portOf(await event("open"));
  expect(await say(port, "again")).toBe("again");
  stop();
  await done;
  expect([looks, events(happened)]).toEqual([2, ["open", "closed"]]);
});

it("no data of a client leaves before its connection is verified", async () => {
  const heard: Buffer[] = [];
  agent.on("connection", (socket) => socket.on("data", (chunk: Buffer) => heard.push(chunk)));
  const { way } = wayThere();
  let seen = () => {};
  const open = async () => {
    const road = await way.open();
    await new Promise<void>((resolve) => {
      seen = resolve;
    });
    return road;
  };
  const { event, stop, done } = tunnel(async () => ({ ...way, open }), { timeout: 10_000 });
  const answer = say(portOf(await event("open")), "the key");
  await once(agent, "connection");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(heard).toEqual([]);
  seen();
  expect(await answer).toBe("the key");
  stop();
  await done;
});

it("a client that fails verification is cut off, and the tunnel is lost", async () => {
  let stolen = false;
  const { way } = wayThere();
  const look = async () => {
    if (stolen) throw new Fault("check-failed", "somebody else has the port");
    return way.open();
  };
  const { happened, event, stop, done } = tunnel(async () => {
    (await look()).destroy();
    return { ...way, open: look };
  });
  const port = portOf(await event("open"));
  expect(await say(port, "at once")).toBe("at once");
  stolen = true;
  const refused = say(port, "the key").catch((error) => error.code);
  await event("lost");
  expect(await refused).toBe("ECONNRESET");
  stop();
  await done;
  expect(events(happened)).toEqual(["open", "lost", "closed"]);
});

it.each([
  ["it was never open", [new Fault("not-ready", "ada is stopped")], []],
  [
    "the host is another one now",
    [undefined, new Fault("host-key-changed", "another key")],
    ["open", "lost", "closed"],
  ],
])("ends with what will not pass: %s", async (_, answers, expected) => {
  const first = wayThere();
  const { happened, event, done } = tunnel(async () => {
    const answer = answers.shift();
    if (answer) throw answer;
    return first.way;
  });
  const fault = done.catch((error) => error);
  if (expected.length > 0) {
    await event("open");
    first.cut();
  }
  expect(await fault).toBeInstanceOf(Fault);
  expect(events(happened)).toEqual(expected);
});

it("repeated losses are retried with growing pauses", async () => {
  let found = 0;
  const { event, happened, stop, done } = tunnel(
    async () => {
      const each = wayThere();
      if (++found < 4) each.cut();
      return each.way;
    },
    { pauses: { first: 20, longest: 1000 } },
  );
  slept.length = 0;
  while (found < 4) await event("back");
  expect(slept).toEqual([20, 40]);
  stop();
  await done;
  expect(events(happened)).toEqual(["open", ...Array(3).fill(["lost", "back"]).flat(), "closed"]);
});

it("stopped during a loss it ends without error, and cleans up", async () => {
  let closed = 0;
  const first = wayThere({ close: async () => void closed++ });
  const answers = [first.way];
  const { event, stop, done } = tunnel(
    async () => answers.shift() ?? Promise.reject(new Fault("unreachable", "cannot reach wolf")),
    { pauses: { first: 60_000, longest: 60_000 } },
  );
  await event("open");
  first.cut();
  await event("waiting");
  stop();
  await done;
  expect(closed).toBe(1);
});

it("a port in use is reported with an alternative, unless any port is fine", async () => {
  const taken = (agent.address() as AddressInfo).port;
  const wanted = { preferred: taken, next: "clm tunnel ada" };
  let looked = false;
  const refused = tunnel(
    async () => {
      looked = true;
      return wayThere().way;
    },
    { local: { ...wanted, port: taken } },
  );
  const fault = await refused.done.catch((error) => error);
  expect(fault).toMatchObject({ fault: "in-use", next: ["clm tunnel ada"] });
  expect([fault.message, fault.why[0], looked]).toEqual([
    `local port ${taken} cannot be used`,
    expect.stringContaining("--port"),
    false,
  ]);
  const other = tunnel(async () => wayThere().way, { local: wanted });
  expect(portOf(await other.event("open"))).not.toBe(taken);
  other.stop();
  await other.done;
});
