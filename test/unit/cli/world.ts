import { PassThrough } from "node:stream";
import { runCli, type World } from "../../../src/cli/run.js";
import { memory } from "../ui/streams.js";

/** Runs a command line inside the test, with its own streams. */
export async function clm(argv: string[], world: Partial<World> & { tty?: { columns: number } } = {}) {
  const stdout = memory(world.tty);
  const stderr = memory();
  const code = await runCli(argv, {
    stdin: () => new PassThrough(),
    stdout,
    stderr,
    env: { HOME: "/nowhere" },
    now: () => new Date("2026-01-01T00:00:00Z"),
    signal: new AbortController().signal,
    ...world,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}
