import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { program } from "./clm.js";

export interface Dialogue {
  home: string;
  env?: NodeJS.ProcessEnv;
  /** What to type when new screen content matches, or what to do and then type, in this order. */
  answers: [shown: RegExp, typed: string | (() => string | Promise<string>)][];
}

/** Runs clm on a terminal, and returns the screen and the exit code. */
export function onTerminal(
  args: string[],
  { home, env = {}, answers }: Dialogue,
): Promise<{ code: number | null; screen: string }> {
  const words = [process.execPath, program, ...args].map((word) => `'${word}'`).join(" ");
  // script(1) gives the program a terminal of its own and passes its exit code on. `exec`, because a shell that waits for
  // the program handles Ctrl-C itself and reports 130 whatever the program does.
  const line = `exec ${words}`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    env: { ...process.env, CLM_HOME: home, TERM: "xterm", ...env },
  });
  const waiting = [...answers];
  let screen = "";
  let seen = 0;
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.stdout.on("data", (chunk) => {
      screen = stripVTControlCharacters(screen + chunk);
      const [shown, typed] = waiting[0] ?? [];
      if (!shown || typed === undefined || !shown.test(screen.slice(seen))) return;
      waiting.shift();
      seen = screen.length;
      if (typeof typed === "string") child.stdin.write(typed);
      else Promise.resolve(typed()).then((answer) => child.stdin.write(answer), failed);
    });
    child.on("close", (code) => done({ code, screen }));
  });
}
