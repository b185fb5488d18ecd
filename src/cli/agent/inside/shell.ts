import { Fault } from "../../../errors.js";
import { type Screen, shellIn } from "../../../flows/agent/inside/shell.js";
import { withSession } from "../../../flows/session.js";
import type { Context, Handler } from "../../command.js";
import type { shell } from "./commands.js";

export const run: Handler<typeof shell> = async ({ args, options }, clm) => {
  if (!clm.dryRun && (!process.stdin.isTTY || !process.stdout.isTTY)) {
    throw new Fault("usage", "a shell needs a terminal", {
      why: process.stdin.isTTY ? "what it shows would go elsewhere" : "what is typed comes from elsewhere",
      next: `clm agent exec ${args.name} -- COMMAND`,
    });
  }
  return withSession({ ...clm, ...options }, (session) => shellIn(session, args.name, screenOf(clm)));
};

/** The terminal itself: what runs in it has it for its own, as an editor would, and nothing of ours is shown meanwhile. */
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
      // Also when clm ends in the middle, by a second signal or a bug.
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
