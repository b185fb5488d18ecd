import { Duplex } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Fault, type FaultDetails, type FaultName } from "../../../../src/errors.js";
import { Breaker } from "../../../../src/gateway/upstream-pool/breaker.js";
import { connectFailure } from "../../../../src/gateway/upstream-pool/connect-failure.js";
import { UpstreamPool } from "../../../../src/gateway/upstream-pool/upstream-pool.js";
import { UpstreamPools } from "../../../../src/gateway/upstream-pool/upstream-pools.js";

describe("why an upstream cannot be reached", () => {
  const cases: [fault: FaultName, details: FaultDetails, code: string, ofHost: boolean][] = [
    ["unreachable", { why: "no answer in time" }, "host_unreachable", true],
    ["connection-lost", {}, "host_unreachable", true],
    ["auth-refused", {}, "host_refused_login", true],
    ["host-key-changed", {}, "host_not_trusted", true],
    ["sudo-refused", {}, "host_refused_root", true],
    ["not-ready", { data: { door: "stopped" } }, "agent_stopped", false],
    ["not-ready", { data: { door: "silent" } }, "agent_not_listening", false],
    ["not-ready", { data: { door: "gone" } }, "agent_gone", false],
    ["not-ready", {}, "agent_not_ready", false],
    ["not-found", {}, "agent_not_ready", false],
    ["check-failed", { data: { listeners: [{}] } }, "agent_not_its_own", false],
    ["remote-failed", {}, "agent_not_listening", false],
    ["interrupted", {}, "shutting_down", false],
  ];
  it.each(cases)("%s %o", (fault, details, code, hostWide) => {
    const told = connectFailure(new Fault(fault, "what happened", details));
    expect(told).toMatchObject({ hostWide, refusal: { status: 503, code, retryAfter: expect.any(Number) } });
  });

  it("reports the first reason, and hides unexpected errors", () => {
    const told = connectFailure(new Fault("unreachable", "cannot reach a", { why: ["no answer", "more"] }));
    expect(told.refusal.message).toBe("cannot reach a: no answer");
    expect(connectFailure(new Error("/root/secret")).refusal.message).not.toContain("secret");
  });
});

describe("an upstream pool", () => {
  afterEach(() => void vi.useRealTimers());
  const never = new AbortController().signal;
  const pool = (find: () => Promise<never>, timeout = 1000) =>
    new UpstreamPool({ title: "ada on wolf-i", hostBreaker: new Breaker(), connect: find, timeout });

  it("is located once, however many requests wait", async () => {
    let looks = 0;
    const tried = pool(async () => {
      looks++;
      await new Promise(setImmediate);
      throw new Fault("unreachable", "no");
    });
    const ends = await Promise.allSettled(Array.from({ length: 50 }, () => tried.take(never)));
    expect(ends.every((end) => end.status === "rejected" && end.reason.code === "host_unreachable")).toBe(true);
    expect(looks).toBe(1);
  });

  it("times out, and the search is aborted", async () => {
    let stopped = false;
    const tried = new UpstreamPool({
      title: "ada on wolf-i",
      hostBreaker: new Breaker(),
      timeout: 20,
      connect: (stop) =>
        new Promise(() => {
          stop.addEventListener("abort", () => {
            stopped = true;
          });
        }),
    });
    await expect(tried.take(never)).rejects.toMatchObject({ status: 503, code: "host_unreachable" });
    expect(stopped).toBe(true);
  });

  const nowhere = () => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });

  it("reports the owner of the port at a new connection, and pauses further attempts", async () => {
    let [finds, opens] = [0, 0];
    let listens = true;
    const tried = new UpstreamPool({
      title: "ada on wolf-i",
      hostBreaker: new Breaker(),
      async connect() {
        finds++;
        const open = async () => {
          opens++;
          await new Promise(setImmediate);
          if (!listens) throw new Fault("not-ready", "ada is stopped", { data: { door: "stopped" } });
          return nowhere();
        };
        return { connection: { open: true }, port: 8642, open };
      },
    });
    await tried.take(never);
    listens = false;
    const codeOf = () => Promise.resolve(tried.take(never)).catch(({ code }) => code);
    expect([await codeOf(), await codeOf(), await codeOf()]).toEqual(Array(3).fill("agent_stopped"));
    expect([finds, opens]).toEqual([1, 2]);
  });

  it("is located again after its host connection ended, even if that shows only at the next open", async () => {
    const connections: { open: boolean }[] = [];
    let ends = false;
    const tried = new UpstreamPool({
      title: "ada on wolf-i",
      hostBreaker: new Breaker(),
      async connect() {
        const connection = { open: true };
        connections.push(connection);
        const open = async () => {
          if (!ends) return nowhere();
          ends = false;
          connection.open = false;
          throw new Fault("connection-lost", "gone");
        };
        return { connection, port: connections.length, open };
      },
    });
    await tried.take(never);
    ends = true;
    expect((await tried.take(never)).authority).toBe("127.0.0.1:2");
  });

  it.each([
    ["of its own only, when its port takes too long", async () => new Promise<never>(() => {}), "up"],
    [
      "of its host, when that is lost",
      async () => Promise.reject(new Fault("connection-lost", "gone")),
      "host_unreachable",
    ],
  ])("reports %s", async (_what, open, other) => {
    const host = new Breaker();
    const to = (opening: () => Promise<Duplex>) =>
      new UpstreamPool({
        title: "ada on wolf-i",
        hostBreaker: host,
        timeout: 50,
        connect: async () => ({ connection: { open: true }, port: 1, open: opening }),
      });
    await expect(to(open).take(never)).rejects.toMatchObject({ code: "host_unreachable" });
    const beside = Promise.resolve(to(async () => nowhere()).take(never));
    expect(
      await beside.then(
        () => "up",
        ({ code }) => code,
      ),
    ).toBe(other);
  });

  describe("recreated", () => {
    /** A pool that finds another port on every connect, with connections that never answer. */
    function renewable() {
      const made: Duplex[] = [];
      let port = 0;
      let gate: Promise<void> | undefined;
      const open = async () => {
        const stream = nowhere();
        made.push(stream);
        return stream;
      };
      const self = new UpstreamPool({
        title: "ada on wolf-i",
        hostBreaker: new Breaker(),
        async connect() {
          const found = ++port;
          await gate;
          return { connection: { open: true }, port: found, open };
        },
      });
      return {
        pool: self,
        made,
        hold() {
          let release = () => {};
          gate = new Promise((done) => {
            release = done;
          });
          return release;
        },
      };
    }

    it("closes idle connections, and used ones when they are returned", async () => {
      const { pool, made } = renewable();
      const [idle, busy] = [await pool.take(never), await pool.take(never)];
      idle.giveBack();
      pool.renew();
      expect(made.map(({ destroyed }) => destroyed)).toEqual([true, false]);
      const next = await pool.take(never);
      expect([busy.authority, next.authority]).toEqual(["127.0.0.1:1", "127.0.0.1:2"]);
      busy.giveBack();
      next.giveBack();
      expect(made.map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
      expect(await pool.take(never)).toBe(next);
    });

    it("takes nothing from a look that began before", async () => {
      const { pool, hold } = renewable();
      const release = hold();
      const early = pool.take(never);
      pool.renew();
      const late = pool.take(never);
      release();
      expect([(await early).authority, (await late).authority]).toEqual(["127.0.0.1:2", "127.0.0.1:2"]);
    });

    it("when the place it leads to has another mark", async () => {
      const ports = [1, 2, 3];
      const pools = new UpstreamPools({
        connect: async () => ({
          connection: { open: true },
          port: ports.shift() ?? 0,
          open: async () => nowhere(),
        }),
      });
      const portTo = async (mark: string) => {
        const connection = await pools.poolFor({ host: "wolf-i", name: "ada", proxy: false, mark }).take(never);
        connection.giveBack();
        return connection.authority;
      };
      expect([await portTo("a"), await portTo("a"), await portTo("b"), await portTo("b")]).toEqual(
        [1, 1, 2, 2].map((port) => `127.0.0.1:${port}`),
      );
      pools.close();
    });
  });

  const told: [what: string, fault: Fault, calls: string[]][] = [
    ["the host is down", new Fault("unreachable", "no"), ["lost"]],
    ["the agent is down on a host that answers", new Fault("not-ready", "no", { data: { door: "stopped" } }), ["back"]],
    ["somebody else has its port", new Fault("check-failed", "no", { data: { listeners: [{}] } }), ["back"]],
    ["nobody got as far as the host", new Fault("not-found", "no"), []],
  ];
  it.each(told)("names its host when %s", async (_what, fault, calls) => {
    const heard: string[] = [];
    const tried = new UpstreamPool({
      title: "ada on wolf-i",
      hostBreaker: new Breaker(),
      connect: async () => {
        throw fault;
      },
      onAttempt: (trouble) => heard.push(trouble === undefined ? "back" : "lost"),
    });
    await expect(tried.take(never)).rejects.toThrow();
    expect(heard).toEqual(calls);
  });

  it("no request waits for a caller that left", async () => {
    const gone = new AbortController();
    const waiting = pool(() => new Promise(() => {})).take(gone.signal);
    gone.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });

  it("is retried after a moment, even when the clock was set back", async () => {
    let looks = 0;
    const tried = pool(async () => {
      looks++;
      throw new Fault("unreachable", "no");
    });
    const refused = () => expect(tried.take(never)).rejects.toMatchObject({ code: "host_unreachable" });
    await refused();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
    const until = performance.now() + 5000;
    while (looks < 2 && performance.now() < until) {
      await new Promise((soon) => setTimeout(soon, 20));
      await refused();
    }
    expect(looks).toBe(2);
  });

  it("a host that is down keeps the others of its agents from trying", async () => {
    const host = new Breaker();
    let looks = 0;
    const to = (title: string) =>
      new UpstreamPool({
        title,
        hostBreaker: host,
        async connect() {
          looks++;
          throw new Fault("unreachable", "no");
        },
      });
    await expect(to("ada").take(never)).rejects.toMatchObject({ code: "host_unreachable" });
    await expect(to("ben").take(never)).rejects.toMatchObject({ code: "host_unreachable" });
    expect(looks).toBe(1);
  });
});
