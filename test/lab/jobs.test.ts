import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import type { Connection } from "../../src/remote/connection.js";
import { converge, type Result } from "../../src/remote/operations/converge.js";
import { type FollowOptions, followJob, type JobEnd, jobGone } from "../../src/remote/operations/jobs.js";
import { job } from "../../src/remote/operations/operation.js";
import type { Shell } from "../../src/remote/process.js";
import { inHost } from "./clm.js";
import { connectTo } from "./connect.js";

const shared = inject("fleetHome");
const name = "trial.of-jobs";
const unit = `clm-job-${name}.service`;
const log = `/run/clm/jobs/${name}.log`;
const place = "/srv/jobs";

describe.each(["trial-1", "trial13-1"])("a job on %s", (host) => {
  let connection: Connection;
  let root: Shell;

  beforeAll(async () => {
    connection = await connectTo(shared, host);
    root = connection.as("root");
  });
  afterEach(async () => {
    await inHost(
      host,
      `systemctl stop ${unit} 2>/dev/null; systemctl reset-failed ${unit} 2>/dev/null; rm -rf ${log} ${place}`,
    );
  });
  afterAll(() => connection.close());

  interface Wish {
    argv?: string[];
    as?: string;
    timeout?: number;
    creates?: string;
  }
  const begin = async (script: string, { argv, as = "root", timeout = 60_000, ...more }: Wish = {}) => {
    const wish = job({ name, as, timeout, argv: argv ?? ["sh", "-c", script], cwd: "/", ...more });
    const { results } = await converge(root, [wish], { mode: "apply" });
    const [result] = results;
    if (!result) throw new Error("no result");
    return result as Result;
  };
  const follow = async (options: FollowOptions = {}, shell = root): Promise<JobEnd & { output: Buffer }> => {
    const parts: Buffer[] = [];
    const onOutput: FollowOptions["onOutput"] = (bytes, offset) => {
      parts.push(bytes);
      options.onOutput?.(bytes, offset);
    };
    const end = await followJob(shell, name, { ...options, onOutput });
    return { ...end, output: Buffer.concat(parts) };
  };
  const pid = () => inHost(host, `systemctl show --property MainPID --value ${unit}`);

  it("streams its output while it runs", async () => {
    // It continues only after its first line was received.
    await begin(`echo first; until [ -e ${place} ]; do sleep 0.1; done; echo second >&2`, { timeout: 30_000 });
    const heard: string[] = [];
    const onOutput = (bytes: Buffer) => {
      if (heard.push(bytes.toString()) === 1) void inHost(host, `mkdir ${place}`);
    };
    expect(await follow({ onOutput })).toMatchObject({ result: "success", code: 0, offset: 13 });
    expect(heard).toEqual(["first\n", "second\n"]);
  });

  it("streams all output: a megabyte of any bytes, without a final newline", async () => {
    const size = 1_048_577;
    await begin(`mkdir ${place} && head -c ${size} /dev/urandom | tee ${place}/bytes`);
    const offsets: number[] = [];
    const end = await follow({ onOutput: (_, offset) => offsets.push(offset) });
    expect(end).toMatchObject({ result: "success", code: 0, offset: size });
    expect(offsets.at(-1)).toBe(size);
    const digest = createHash("sha256").update(end.output).digest("hex");
    expect(await inHost(host, `sha256sum <${place}/bytes`)).toBe(`${digest}  -\n`);
  });

  it("streams nothing when it prints nothing", async () => {
    await begin("", { argv: ["true"] });
    const end = await follow();
    expect([end.result, end.code, end.offset, end.output.length]).toEqual(["success", 0, 0, 0]);
  });

  it("runs as the given user", async () => {
    await begin("id -un; pwd", { as: "clm" });
    expect((await follow()).output.toString()).toBe("clm\n/\n");
  });

  it.each<[string, Wish & { script?: string }, Partial<JobEnd>]>([
    ["an exit code", { script: "echo no >&2; exit 3" }, { result: "failed", code: 3, offset: 3 }],
    ["the highest exit code", { script: "exit 255" }, { result: "failed", code: 255 }],
    ["too long", { script: "echo wait; sleep 600", timeout: 1000 }, { result: "timeout", offset: 5 }],
    ["SIGKILL", { script: "echo ow; kill -KILL $$" }, { result: "killed", offset: 3 }],
    ["SIGSEGV", { script: "kill -SEGV $$" }, { result: "killed" }],
    // systemd takes these for a clean exit of a service; an interrupted job has not succeeded.
    ["SIGTERM", { script: "kill -TERM $$; sleep 5" }, { result: "killed" }],
    ["SIGHUP", { script: "kill -HUP $$; sleep 5" }, { result: "killed" }],
  ])("ends by %s", async (_, { script = "", ...wish }, end) => {
    expect(await begin(script, wish)).toMatchObject({ status: "changed" });
    expect(await follow()).toMatchObject(end);
  });

  it("is not started when the program does not exist", async () => {
    const result = await begin("", { argv: ["/no/such/program"] });
    expect(result).toMatchObject({ status: "failed", why: expect.stringMatching(/no such file/i) });
    expect(await follow()).toMatchObject({ result: "gone", offset: 0 });
  });

  // By default systemd waits 90 seconds after SIGTERM.
  it.runIf(process.env.CLM_TEST_EXHAUSTIVE)("is killed at its timeout when it ignores SIGTERM", async () => {
    await begin("trap '' TERM; sleep 600 & wait; exit 0", { timeout: 1000 });
    expect(await follow()).toMatchObject({ result: "timeout" });
  });

  it("can be followed again from any offset in its log", async () => {
    await begin("printf 0123456789");
    for (const offset of [0, 0, 4, 9, 10]) {
      const end = await follow({ offset });
      expect([end.result, end.output.toString(), end.offset]).toEqual(["success", "0123456789".slice(offset), 10]);
    }
  });

  it("survives a lost connection, and no output is lost or repeated", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at + 1}\n`).join("");
    const own = await connectTo(shared, host);
    await begin("for n in $(seq 60); do echo line $n; sleep 0.1; done");
    const before = await pid();
    let heard = "";
    let offset = 0;
    let cut: Promise<unknown> | undefined;
    const onOutput = (bytes: Buffer, behind: number) => {
      heard += bytes;
      offset = behind;
      if (offset > 60) cut ??= inHost(host, "pkill -KILL -f '^sshd(-session)?: clm'");
    };
    await expect(follow({ onOutput }, own.as("root"))).rejects.toMatchObject({ fault: "connection-lost" });
    await cut;
    expect(offset).toBe(heard.length);
    expect(heard.length).toBeLessThan(lines.length);
    expect(await pid()).toBe(before);

    connection = await connectTo(shared, host);
    root = connection.as("root");
    const rest = await follow({ offset });
    expect(heard + rest.output).toBe(lines);
    expect(rest).toMatchObject({ result: "success", code: 0, offset: lines.length });
    // The follower on the lost connection has ended.
    expect(await inHost(host, `sleep 1; pgrep -fc '[c]lm-job-${name}|[u]nit=clm-job' || true`)).toBe("0\n");
  });

  it("continues when its follower stops", async () => {
    await begin("echo one; sleep 2; echo two");
    const stop = new AbortController();
    const stopped = follow({ signal: stop.signal, onOutput: () => stop.abort() });
    await expect(stopped).rejects.toMatchObject({ fault: "interrupted" });
    expect((await follow({ offset: 4 })).output.toString()).toBe("two\n");
  });

  it("is not started a second time while it runs", async () => {
    const script = `echo once; until [ -e ${place} ]; do sleep 0.1; done`;
    expect(await begin(script)).toMatchObject({ status: "changed" });
    const before = await pid();
    expect(await begin(script)).toMatchObject({ status: "ok", note: "running" });
    expect(await pid()).toBe(before);
    await inHost(host, `mkdir ${place}`);
    expect((await follow()).output.toString()).toBe("once\n");
    expect(await begin(script)).toMatchObject({ status: "ok", note: "finished" });
    expect((await follow()).output.toString()).toBe("once\n");
  });

  it("is complete once the file that it creates exists", async () => {
    const creates = `${place}/made`;
    const script = `mkdir -p ${place}; echo run >>${place}/runs; [ -e ${place}/try ] && touch ${creates}; touch ${place}/try`;
    const runs = () => inHost(host, `grep -c run ${place}/runs`);
    // It succeeds without creating the file, so it is not complete.
    expect(await begin(script, { creates })).toMatchObject({ status: "changed" });
    expect((await follow()).result).toBe("success");
    expect(await begin(script, { creates })).toMatchObject({ status: "changed", differences: ["not finished"] });
    expect((await follow()).result).toBe("success");
    expect(await begin(script, { creates })).toMatchObject({ status: "ok", note: "finished" });
    // Even when the host has forgotten the job.
    await converge(root, jobGone(name), { mode: "apply" });
    expect(await begin(script, { creates })).toMatchObject({ status: "ok", note: "finished" });
    expect(await runs()).toBe("2\n");
  });

  it("is retried after a failure, with a new log", async () => {
    const script = `mkdir ${place} && echo first && exit 3; echo second`;
    await begin(script);
    expect(await follow()).toMatchObject({ result: "failed", code: 3 });
    expect(await begin(script)).toMatchObject({ status: "changed", differences: ["failed (exit-code)"] });
    const end = await follow();
    expect([end.result, end.output.toString()]).toEqual([
      "success",
      expect.stringMatching(/^mkdir: .*File exists\nsecond\n$/),
    ]);
  });

  it("is replaced by another job of the same name", async () => {
    await begin("echo old; sleep 600");
    const before = await pid();
    const replaced = await begin("echo new");
    expect(replaced).toMatchObject({ status: "changed", differences: ["another job of this name is running"] });
    const end = await follow();
    expect([end.result, end.output.toString()]).toEqual(["success", "new\n"]);
    expect(await inHost(host, `kill -0 ${before.trim()} 2>&1 || true`)).toMatch(/no such process/i);
  });

  it("leaves nothing when it is removed, running or not", async () => {
    const left = () =>
      inHost(
        host,
        `systemctl list-units --all --plain --no-legend 'clm-job-*'; ls /run/clm/jobs; pgrep -f '[s]leep 6061' || true
         ls /run/systemd/transient | grep clm-job || true`,
      );
    const deaf = process.env.CLM_TEST_EXHAUSTIVE ? ["trap '' TERM HUP INT; sleep 6061 & sleep 6061"] : [];
    for (const script of ["sleep 6061 & exec sleep 6061", ...deaf, "exit 3", "true"]) {
      await begin(script);
      if (!script.includes("sleep")) await follow();
      await converge(root, jobGone(name), { mode: "apply" });
      expect([script, await left()]).toEqual([script, ""]);
      expect(await follow()).toMatchObject({ result: "gone", offset: 0 });
    }
    // Removing an unknown job is no error.
    await converge(root, jobGone(name), { mode: "apply" });
  }, 300_000);
});
