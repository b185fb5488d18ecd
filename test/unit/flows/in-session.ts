import { PassThrough } from "node:stream";
import { type Session, type Setting, withSession } from "../../../src/flows/session.js";
import { Terminal } from "../../../src/ui/terminal.js";
import { memory } from "../ui/streams.js";

/** Runs work in its own session without prompts, and returns its result and output. */
export async function inSession<T>(
  setting: Partial<Setting> & { configDir: string },
  work: (session: Session) => Promise<T>,
): Promise<{ result: T; said: () => string }> {
  const stdout = memory();
  const stderr = memory();
  const stdin = setting.stdin ?? (() => new PassThrough());
  const flags = { quiet: false, debug: false, noColor: true, yes: setting.yes ?? false };
  const ui = new Terminal({ stdin, stdout, stderr, env: {}, flags });
  const result = await withSession(
    {
      ui,
      env: {},
      now: () => new Date("2026-01-01T00:00:00Z"),
      signal: new AbortController().signal,
      argv: ["provider", "test"],
      yes: false,
      dryRun: false,
      ...setting,
      stdin,
    },
    work,
  );
  return { result, said: () => stdout.text() + stderr.text() };
}
