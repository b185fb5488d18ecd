import { describe, expect, it } from "vitest";
import { Fault } from "../../../src/errors.js";
import { check, flow, type Phases, type Undo } from "../../../src/flows/flow.js";
import type { Gate } from "../../../src/flows/gate.js";
import type { Session } from "../../../src/flows/session.js";
import type { Report } from "../../../src/remote/operations/converge.js";
import type { Shell } from "../../../src/remote/process.js";

const root = {} as Shell;
const report: Report = { results: [], changed: 0, pending: 0 };
const action = { verb: "agent test", target: "lab-1/ada", summary: "test ada" };
const broken = () => new Fault("remote-failed", "it broke", { why: "the disk is gone" });

interface Run {
  dryRun?: boolean;
  declined?: boolean;
}

/** Runs a verb against a gate and a terminal that write down what happens. */
async function run(verb: (phases: Phases, log: Log) => Promise<unknown>, { dryRun = false, declined }: Run = {}) {
  const events: string[] = [];
  const abort = new AbortController();
  const gate = {
    dryRun,
    async open({ summary }) {
      events.push(dryRun ? `would ${summary}` : `open: ${summary}`);
      if (declined) throw new Fault("declined", `did not ${summary}`);
      if (dryRun) return undefined;
      return {
        async converge() {
          events.push("apply");
          return report;
        },
        async close({ result, detail }) {
          events.push(`audit: ${result}${detail ? ` ${JSON.stringify(detail)}` : ""}`);
        },
        async fail(error) {
          events.push(`audit: ${error instanceof Fault ? error.fault : error}`);
        },
      };
    },
    async compare() {
      events.push("compare");
      return report;
    },
  } as Partial<Gate> as Gate;
  const ui = {
    progress: (title: string) => ({
      done: () => events.push(`done: ${title}`),
      fail: () => events.push(`failed: ${title}`),
    }),
    note: (text: string) => events.push(text),
    debug: (text: string) => events.push(text),
  };
  const session = { gate, ui, signal: abort.signal, argv: ["agent", "test", "ada"] } as unknown as Session;
  const log: Log = { session, say: async (text) => void events.push(text), abort: () => abort.abort() };
  const ended = await flow(session, action, (phases) => verb(phases, log)).then(
    (result) => ({ result }),
    (fault: Fault) => ({ fault: { fault: fault.fault, why: fault.why, next: fault.next } }),
  );
  return { events, ...ended };
}

interface Log {
  session: Session;
  say(text: string): Promise<void>;
  abort(): void;
}

const operations = { root, operations: [] };
const all = async ({ change, prove, record }: Phases, { say }: Log) => {
  const port = await record("a port", async () => 4711);
  const changed = await change("write the files", operations);
  const pid = await change("start it", async () => say(`start on ${port}`).then(() => 42));
  const healthy = await prove("it answers", () => say(`ask ${pid}`).then(() => true));
  return { port, changed, pid, healthy };
};

describe("a flow", () => {
  it("runs its phases in order, with the values of earlier ones, inside one audit entry", async () => {
    expect(await run(all)).toEqual({
      events: [
        ...["open: test ada", "record: a port", "apply", "done: write the files"],
        ...["start on 4711", "done: start it", "ask 42", "done: it answers", "audit: ok"],
      ],
      result: { port: 4711, changed: report, pid: 42, healthy: true },
    });
  });

  it("in a dry run compares operations, names other changes, and neither proves nor records", async () => {
    expect(await run(all, { dryRun: true })).toEqual({
      events: ["would test ada", "compare", "would start it"],
      result: { port: undefined, changed: report, pid: undefined, healthy: undefined },
    });
  });

  it("does not pass the gate when nothing changes", async () => {
    const { events } = await run(({ prove }) => prove("it answers", async () => true));
    expect(events).toEqual(["done: it answers"]);
  });

  it("changes nothing when the question is answered with no", async () => {
    const { events, ...ended } = await run(all, { declined: true });
    expect(events).toEqual(["open: test ada"]);
    expect(ended).toEqual({ fault: { fault: "declined", why: [], next: [] } });
  });

  it("is audited as failed when a proof fails, and continues", async () => {
    const { events, ...ended } = await run(async ({ change, prove, record }) => {
      await change("write the files", operations);
      const proofs = await prove(
        "it answers",
        async () => ["no"],
        (found) => found.length === 0,
      );
      return record("the proofs", async () => proofs);
    });
    expect(events.slice(-3)).toEqual(["done: it answers", "record: the proofs", "audit: failed"]);
    expect(ended).toEqual({ result: ["no"] });
  });

  it("keeps a detail in the audit log", async () => {
    const details: unknown[] = [];
    const close = async (outcome: unknown) => void details.push(outcome);
    const session = { gate: { open: async () => ({ close }) }, ui: { debug() {} } } as unknown as Session;
    await flow(
      session,
      action,
      ({ record }) => record("a port", async () => 4711),
      (port) => ({ port }),
    );
    expect(details).toEqual([{ result: "ok", detail: { port: 4711 } }]);
  });
});

const again = "clm agent test ada";
const failures: [string, (phases: Phases, log: Log) => Promise<unknown>, { events: string[]; next: string[] }][] = [
  [
    "a check before the first change",
    (_, { session }) => check(session, "the host is there", () => Promise.reject(broken())),
    { events: ["failed: the host is there"], next: [] },
  ],
  [
    "a change",
    ({ change }) => change("start it", () => Promise.reject(broken())),
    { events: ["open: test ada", "failed: start it", "audit: remote-failed"], next: [again] },
  ],
  [
    "a record",
    ({ record }) => record("a port", () => Promise.reject(broken())),
    { events: ["open: test ada", "record: a port", "audit: remote-failed"], next: [again] },
  ],
  [
    "a proof: running the same command again proves no more",
    async ({ record, prove }) => {
      await record("a port", async () => 4711);
      await prove("it answers", () => Promise.reject(broken()));
    },
    { events: ["open: test ada", "record: a port", "failed: it answers", "audit: remote-failed"], next: [] },
  ],
];

describe("a flow that fails", () => {
  it.each(failures)("in %s", async (_, verb, { events, next }) => {
    const failed = await run(verb);
    expect(failed).toEqual({ events, fault: { fault: "remote-failed", why: ["the disk is gone"], next } });
  });

  it("names the same command once", async () => {
    const failed = await run(({ change }) => change("start it", () => Promise.reject(broken().with({ next: again }))));
    expect(failed).toMatchObject({ fault: { next: [again] } });
  });
});

describe("undo", () => {
  const undo =
    ({ say }: Log, note?: string): Undo<unknown> =>
    async (_, result) => {
      await say(`take back ${result}`);
      return note;
    };
  const inTwoSteps = async ({ change, prove }: Phases, log: Log) => {
    await change("install it", async () => "version 2", { undo: undo(log) });
    await change("write the files", operations);
    await change("start it", async () => "pid 42", { undo: undo(log, "version 1 runs again") });
    await prove("it answers", () => Promise.reject(broken()));
  };

  it("undoes completed phases in reverse order, and reports it", async () => {
    const { events, ...ended } = await run(inTwoSteps);
    expect(events.slice(-6)).toEqual([
      ...["failed: it answers", "take back pid 42", "done: undo: start it"],
      ...["take back version 2", "done: undo: install it", "audit: remote-failed"],
    ]);
    const why = ["the disk is gone", "undone: start it; version 1 runs again", "undone: install it"];
    expect(ended).toMatchObject({ fault: { why } });
  });

  it("undoes a change that failed half-way, and no later one", async () => {
    const { events } = await run(async ({ change }, log) => {
      await change("install it", () => Promise.reject(broken()), { undo: undo(log) });
      await change("start it", async () => "pid 42", { undo: undo(log) });
    });
    expect(events).toEqual([
      ...["open: test ada", "failed: install it"],
      ...["take back undefined", "done: undo: install it", "audit: remote-failed"],
    ]);
  });

  it("continues with the others when one fails, and names it", async () => {
    const { events, ...ended } = await run(async ({ change }, log) => {
      await change("install it", async () => "version 2", { undo: undo(log) });
      await change("start it", async () => "pid 42", {
        undo: () => Promise.reject(new Fault("unreachable", "no host")),
      });
      throw broken();
    });
    expect(events).toContain("take back version 2");
    const why = ["the disk is gone", "could not be undone: start it: no host", "undone: install it"];
    expect(ended).toMatchObject({ fault: { fault: "remote-failed", why } });
  });

  it("does not happen after Ctrl-C: the same command resumes", async () => {
    const { events } = await run(async ({ change }, log) => {
      await change("install it", async () => "version 2", { undo: undo(log) });
      log.abort();
      throw new Fault("interrupted", "stopped");
    });
    expect(events).toEqual(["open: test ada", "done: install it", "audit: interrupted"]);
  });

  it("is not needed in a dry run", async () => {
    const { events } = await run(({ change }, log) => change("install it", async () => 1, { undo: undo(log) }), {
      dryRun: true,
    });
    expect(events).toEqual(["would test ada", "would install it"]);
  });
});
