import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { converge } from "../../../src/remote/operations/converge.js";
import { dir } from "../../../src/remote/operations/operation.js";
import type { Process, Shell } from "../../../src/remote/process.js";
import { run } from "../../../src/remote/run.js";
import { sharedShell } from "../../../src/remote/shared-shell.js";
import { type LocalShell, localShells, workshop } from "./operations/local-shell.js";
import { me } from "./operations/tree.js";

const { shells, close } = localShells();
afterAll(close);

const keepStdin = true;

describe.each(shells)("several commands in one shell under $name", (shell: LocalShell) => {
  const counted = async () => {
    const before = shell.commands.length;
    return { one: await sharedShell(shell), started: () => shell.commands.length - before };
  };

  it("have their own output and exit code, and the shell is started once", async () => {
    const { one, started } = await counted();
    const first = await run(one, "echo out; echo err >&2; exit 7", { keepStdin });
    expect(first).toEqual({ code: 7, stdout: "out\n", stderr: "err\n" });
    const second = await run(one, "printf 'no newline'; printf clm- >&2", { keepStdin });
    expect(second).toEqual({ code: 0, stdout: "no newline", stderr: "clm-" });
    const silent = await run(one, "cd /nowhere 2>/dev/null", { keepStdin });
    expect([silent.code === 0, silent.stdout, silent.stderr]).toEqual([false, "", ""]);
    expect(started()).toBe(1);
    const last = await run(one, "cat", { stdin: "to the end" });
    expect(last).toMatchObject({ code: 0, stdout: "to the end" });
    expect(started()).toBe(1);
  });

  it("leave nothing behind for the next: no variable, no directory, no options", async () => {
    const { one } = await counted();
    await run(one, "cd /; x=1; set -eu; exec 5>&1; umask 0", { keepStdin });
    const { stdout } = await run(one, 'echo "x$x $(umask)"', { keepStdin });
    expect(stdout).toBe(`x ${(await run(shell, "/bin/sh -c umask")).stdout}`);
  });

  it("read only their own stdin", async () => {
    const { one } = await counted();
    const first = await run(one, 'IFS= read -r line; echo "$line"', { stdin: "mine\n", keepStdin });
    const second = await run(one, 'IFS= read -r line; echo "$line"', { stdin: "yours\n", keepStdin });
    expect([first.stdout, second.stdout]).toEqual(["mine\n", "yours\n"]);
  });

  it("carry any bytes, and a lot of them", async () => {
    const { one } = await counted();
    const many = await run(one, "head -c 300000 /dev/zero | tr '\\0' x", { keepStdin });
    expect(many.stdout).toBe("x".repeat(300_000));
    expect((await run(one, "printf 'c\\ncl\\nclm-\\n'", { keepStdin })).stdout).toBe("c\ncl\nclm-\n");
  });

  it("that were at work beside each other leave one shell, and no more", async () => {
    const open = new Set<Process>();
    const watched: Shell = {
      as: (user) => shell.as(user),
      async spawn(command, options) {
        const process = await shell.spawn(command, options);
        open.add(process);
        void process.done.finally(() => open.delete(process));
        return process;
      },
    };
    const one = await sharedShell(watched);
    await Promise.all([1, 2, 3].map(() => run(one, "sleep 0.2", { keepStdin })));
    for (let tries = 0; open.size > 1 && tries < 100; tries++) await sleep(50);
    expect(open.size).toBe(1);
    expect((await run(one, "echo again", { keepStdin })).stdout).toBe("again\n");
  });

  it("get a new shell while another command runs, and after the shell has ended", async () => {
    const { one, started } = await counted();
    const waiting = await one.spawn("read -r word; echo $word");
    expect((await run(one, "echo meanwhile", { keepStdin })).stdout).toBe("meanwhile\n");
    expect(started()).toBe(2);
    waiting.stdin.end("now\n");
    expect((await waiting.done).code).toBe(0);
    expect((await run(one, "echo later")).stdout).toBe("later\n");
    expect((await run(one, "echo again")).stdout).toBe("again\n");
    expect(started()).toBe(3);
  });

  it("end with the shell that runs them", async () => {
    const { one } = await counted();
    const process = await one.spawn("sleep 60");
    process.kill("KILL");
    expect(await process.done).toEqual({ code: null, signal: "SIGKILL" });
    expect((await run(one, "echo alive")).stdout).toBe("alive\n");
  });

  it("get another shell when the one has gone while it waited", async () => {
    const gone: Promise<unknown>[] = [];
    const watched: Shell = {
      as: () => watched,
      spawn: async (command) => {
        const process = await shell.spawn(command);
        gone.push(process.done);
        return process;
      },
    };
    const one = await sharedShell(watched);
    await run(one, "(sleep 0.1; kill -9 $$) >/dev/null 2>&1 &", { keepStdin });
    await gone[0];
    expect((await run(one, "echo alive")).stdout).toBe("alive\n");
    expect(gone).toHaveLength(2);
  });

  it("fail when the connection breaks between them", async () => {
    const lost = new Error("lost the connection");
    const breaking: Shell = {
      as: () => breaking,
      spawn: async (command) => {
        const process = await shell.spawn(command);
        process.stdin.end();
        // No event has reported it yet.
        return { ...process, done: process.done.then(() => sleep(50)).then(() => Promise.reject(lost)) };
      },
    };
    const one = await sharedShell(breaking);
    await sleep(20);
    await expect(run(one, "echo never", { keepStdin })).rejects.toThrow("lost the connection");
  });

  it("end when aborted", async () => {
    const { one } = await counted();
    const stop = new AbortController();
    const running = run(one, "sleep 60", { signal: stop.signal, keepStdin });
    setImmediate(() => stop.abort(new Error("stopped")));
    await expect(running).rejects.toThrow("stopped");
  });

  it.each([0, 1, 30, 50])("do nothing when they are cut short, %i bytes from the beginning", async (bytes) => {
    const { root, close: leave } = workshop();
    const one = await sharedShell(cutAt(shell, bytes));
    await run(one, `/bin/sh -c 'mkdir ${root}/made'`).catch(() => {});
    await expect(run(shell, `ls ${root}`)).resolves.toMatchObject({ stdout: "" });
    leave();
  });

  it("can be a look and then a change", async () => {
    const { root, close: leave } = workshop();
    const { one, started } = await counted();
    const wish = [dir(`${root}/made`, { owner: me, mode: 0o700 })];
    await run(one, "true", { keepStdin });
    const report = await converge(one, wish, { mode: "apply" });
    expect(report.results.map(({ status }) => status)).toEqual(["changed"]);
    expect(started()).toBe(1);
    expect((await converge(one, wish, { mode: "apply" })).pending).toBe(0);
    leave();
  });
});

/** The shell, with a line to it that breaks after so many bytes of what follows the nonce. */
const cutAt = (shell: Shell, bytes: number): Shell => ({
  as: () => cutAt(shell, bytes),
  spawn: async (command, options): Promise<Process> => {
    const process = await shell.spawn(command, options);
    let left = bytes + "clm-\n".length + 32;
    const { stdin } = process;
    const write = stdin.write.bind(stdin) as (chunk: Buffer) => boolean;
    stdin.write = ((chunk: Buffer | string) => {
      const part = Buffer.from(chunk as string).subarray(0, left);
      left -= part.length;
      const went = write(part);
      if (left === 0) stdin.end();
      return went;
    }) as typeof stdin.write;
    return process;
  },
});
