import { describe, expect, it } from "vitest";
import { Fault, type FaultDetails, type FaultName } from "../../../src/errors.js";
import { Breaker } from "../../../src/gateway/road/breaker.js";
import { noRoad } from "../../../src/gateway/road/refused.js";
import { Road } from "../../../src/gateway/road/road.js";

describe("why there is no road", () => {
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
  it.each(cases)("%s %o", (fault, details, code, ofHost) => {
    const told = noRoad(new Fault(fault, "what happened", details));
    expect(told).toMatchObject({ ofHost, refusal: { status: 503, code, retryAfter: expect.any(Number) } });
  });

  it("tells the first reason, and nothing of what nobody expected", () => {
    const told = noRoad(new Fault("unreachable", "cannot reach a", { why: ["no answer", "more"] }));
    expect(told.refusal.message).toBe("cannot reach a: no answer");
    expect(noRoad(new Error("/root/secret")).refusal.message).not.toContain("secret");
  });
});

describe("a road", () => {
  const never = new AbortController().signal;
  const road = (find: () => Promise<never>, patience = 1000) =>
    new Road({ title: "ada on wolf-i", host: new Breaker(), isFresh: () => true, find, patience });

  it("is looked for once, however many wait", async () => {
    let looks = 0;
    const tried = road(async () => {
      looks++;
      await new Promise(setImmediate);
      throw new Fault("unreachable", "no");
    });
    const ends = await Promise.allSettled(Array.from({ length: 50 }, () => tried.take(never)));
    expect(ends.every((end) => end.status === "rejected" && end.reason.code === "host_unreachable")).toBe(true);
    expect(looks).toBe(1);
  });

  it("that takes too long is none, and whoever looks for it is told to stop", async () => {
    let stopped = false;
    const tried = new Road({
      ...{ title: "ada on wolf-i", host: new Breaker(), isFresh: () => true, patience: 20 },
      find: (stop) =>
        new Promise(() => {
          stop.addEventListener("abort", () => {
            stopped = true;
          });
        }),
    });
    await expect(tried.take(never)).rejects.toMatchObject({ status: 503, code: "host_unreachable" });
    expect(stopped).toBe(true);
  });

  it("nobody waits for who went away", async () => {
    const gone = new AbortController();
    const waiting = road(() => new Promise(() => {})).take(gone.signal);
    gone.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });

  it("a host that is down keeps the others of its agents from trying", async () => {
    const host = new Breaker();
    let looks = 0;
    const to = (title: string) =>
      new Road({
        ...{ title, host, isFresh: () => true },
        async find() {
          looks++;
          throw new Fault("unreachable", "no");
        },
      });
    await expect(to("ada").take(never)).rejects.toMatchObject({ code: "host_unreachable" });
    await expect(to("ben").take(never)).rejects.toMatchObject({ code: "host_unreachable" });
    expect(looks).toBe(1);
  });
});
