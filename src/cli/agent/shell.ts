import { Fault } from "../../errors.js";
import { type Screen, shellIn } from "../../flows/agent/exec/shell.js";
import type { Context, Handler } from "../command.js";
import type { shell } from "./commands.js";

export const run: Handler<typeof shell> = async ({ args }, clm) => {
  if (!clm.dryRun && (!process.stdin.isTTY || !process.stdout.isTTY)) {
    throw new Fault("usage", "a shell needs a terminal", {
      why: process.stdin.isTTY ? "stdout is not a terminal" : "stdin is not a terminal",
      next: `clm agent exec ${args.name} -- COMMAND`,
    });
  }
  return clm.withSession((session) => shellIn(session, args.name, screenOf(clm)));
};

/** The local terminal. While it is lent to the shell, clm prints nothing. */
function screenOf({ env }: Context): Screen {
  const { stdin, stdout } = process;
  return {
    window: () => ({ term: env.TERM || "xterm", rows: stdout.rows || 24, columns: stdout.columns || 80 }),
    onResize(changed) {
      stdout.on("resize", changed);
      return () => void stdout.off("resize", changed);
    },
    lend() {
      const restore = () => void stdin.setRawMode(false);
      // Restored even when clm exits in the middle, on a second signal or a bug.
      process.once("exit", restore);
      stdin.setRawMode(true);
      return {
        keys: stdin,
        show: stdout,
        takeBack() {
          process.off("exit", restore);
          restore();
          stdin.pause();
        },
      };
    },
  };
}
