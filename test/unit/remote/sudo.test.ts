import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { asFault } from "../../../src/errors.js";
import type { Connection } from "../../../src/remote/connection.js";
import type { Exit } from "../../../src/remote/process.js";
import { rootOnTerminal, type TerminalProcess } from "../../../src/remote/root-terminal.js";
import { withRightsOf } from "../../../src/remote/sudo.js";
import { Secret } from "../../../src/secret.js";

interface Ways {
  password?: string | undefined;
  /** What sudo shows before anything else. */
  banner?: string;
  signal?: AbortSignal;
}

/** A sudo that asks for `open sesame` up to three times, and then runs a command that prints `done`. */
function fakeSudo(line: string, on: "pipe" | "terminal", banner = ""): TerminalProcess {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const [, prompt = ""] = / -p (\S+)/.exec(line) ?? [];
  const [, proof = ""] = /echo (clm-[0-9a-f]+);/.exec(line) ?? [];
  const newline = on === "terminal" ? "\r\n" : "\n";
  const asks = on === "terminal" ? stdout : stderr;
  let exit: (exit: Exit) => void = () => {};
  const done = new Promise<Exit>((resolve) => {
    exit = resolve;
  });
  const end = (code: number | null) => {
    asks.once("end", () => exit({ code }));
    for (const stream of [stdout, stderr]) stream.end();
  };
  const ask = () => {
    // In two pieces, as a network may deliver it.
    asks.write(prompt.slice(0, 5));
    setImmediate(() => asks.write(prompt.slice(5)));
  };
  stdin.on("data", (answer: Buffer) => {
    if (answer.toString() !== "open sesame\n") return ask();
    stdout.write(`${proof}${newline}done${newline}`);
    end(0);
  });
  asks.write(banner);
  if (banner.includes("not in the sudoers")) end(1);
  else ask();
  return { stdin, stdout, stderr, done, kill: () => end(null), leave: () => end(null), resize() {} };
}

async function asRoot(on: "pipe" | "terminal", { password, banner, signal }: Ways): Promise<string> {
  const host = {
    user: "pat",
    target: { name: "wolf" },
    spawn: async (line: string) => fakeSudo(line, on, banner),
  } as unknown as Connection;
  const passwords = { sudo: async () => (password === undefined ? undefined : new Secret(password)) };
  const access = { host, sudo: "password", passwords } as const;
  const stop = signal ?? new AbortController().signal;
  const process =
    on === "pipe"
      ? await withRightsOf("root", access).spawn("work", { signal: stop })
      : await rootOnTerminal("work", access, async (line) => fakeSudo(line, on, banner), stop);
  await process.done;
  return text(process.stdout);
}

describe.each(["pipe", "terminal"] as const)("sudo on a %s", (on) => {
  const whyOf = async (ways: Ways) => asFault(await asRoot(on, ways).catch((error: unknown) => error)).why;

  it("runs the command once the password was accepted, and shows nothing of its own", async () => {
    const output = await asRoot(on, {
      password: "open sesame",
      banner: "We trust you have received the usual lecture",
    });
    expect(output.trimEnd()).toBe("done");
  });

  it("is answered once, and not again", async () => {
    expect(await whyOf({ password: "wrong" })).toEqual(["the password was not accepted"]);
  });

  it("is refused when there is nobody to ask", async () => {
    expect(await whyOf({})).toEqual(["sudo needs a password, and there is no terminal to prompt on"]);
  });

  it("is refused for the reason that it gives", async () => {
    const banner = "pat is not in the sudoers file.\n";
    expect(await whyOf({ password: "open sesame", banner })).toEqual([banner.trim()]);
  });

  it("may not send more than clm reads before the command starts", async () => {
    const why = await whyOf({ password: "open sesame", banner: "x".repeat(70_000) });
    expect(why).toEqual(["it sent more than 64 KB before it started anything"]);
  });

  it("is given up when the command is stopped", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(asRoot(on, { password: "open sesame", signal })).rejects.toThrow("stopped");
  });
});

describe("sudo that needs no password", () => {
  /** Starts `work` with a sudo that shows these, and then ends. */
  async function asRootWithout(stdoutOf: (proof: string) => string, banner = "", code = 0) {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const killed: (string | undefined)[] = [];
    let exit: (exit: Exit) => void = () => {};
    const done = new Promise<Exit>((resolve) => {
      exit = resolve;
    });
    const spawn = async (line: string): Promise<TerminalProcess> => {
      expect(line).toMatch(/^sudo -n -u root -- \/bin\/sh -c 'echo clm-[0-9a-f]+; work'$/);
      stdout.end(stdoutOf(/clm-[0-9a-f]+/.exec(line)?.[0] ?? ""));
      stderr.end(banner);
      setImmediate(() => exit({ code }));
      const kill = (signal?: string) => void killed.push(signal);
      return { stdin, stdout, stderr, done, kill, leave: () => {}, resize() {} };
    };
    const host = { user: "pat", target: { name: "wolf" }, spawn } as unknown as Connection;
    const access = { host, sudo: "passwordless", passwords: { sudo: async () => undefined } } as const;
    const process = await withRightsOf("root", access).spawn("work");
    const output = Promise.all([text(process.stdout), text(process.stderr)]);
    return { exit: await process.done, output: await output, killed };
  }

  it("runs the command at once, and passes on its output and exit code", async () => {
    const ran = await asRootWithout((proof) => `a banner\n${proof}\ndone\n`, "a warning\n", 3);
    expect(ran).toEqual({ exit: { code: 3 }, output: ["done\n", "a warning\n"], killed: [] });
  });

  it("is refused for the reason that it gives", async () => {
    const refused = await asRootWithout(() => "", "sudo: a password is required\n", 1).catch(asFault);
    expect(refused).toMatchObject({ fault: "sudo-refused", why: ["sudo: a password is required"] });
  });

  it("may not send more than clm reads before the command starts", async () => {
    const refused = await asRootWithout(() => "x".repeat(70_000)).catch(asFault);
    expect(refused).toMatchObject({ why: ["it sent more than 64 KB before it started anything"] });
  });
});
