import type { Readable, Writable } from "node:stream";
import { transientUnit } from "../../../agents/plan/transient-unit.js";
import type { Window } from "../../../remote/root-terminal.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { onLeash } from "./exec-leash.js";

export interface Screen {
  window(): Window;
  /** Returns the function that stops the callbacks. */
  onResize(changed: () => void): () => void;
  /** Raw mode: passes on every key. */
  lend(): { keys: Readable; show: Writable; takeBack: () => void };
}

// The account has no shell, and programs that start one read SHELL.
const anyShell = ["/bin/sh", "-c", 'SHELL=$(command -v bash || echo /bin/sh); export SHELL; exec "$SHELL"'];

/** Opens an interactive shell as the agent's user, with its environment. Returns the exit code. */
export async function shellIn(session: Session, word: string, screen: Screen): Promise<number | undefined> {
  const target = await targetOf(session, word);
  const { agent, resolved } = target;
  const action = {
    verb: "agent shell",
    target: hostAndName(agent),
    summary: `open a shell in ${agentId(agent)}`,
  };
  const open = () =>
    onLeash(session, target, async (leash, connection) => {
      const env = leash.hasEnv(target);
      const run = { resolved, unit: leash.unit(), sign: leash.sign, env, streams: "pty", words: anyShell } as const;
      const shell = await connection.onTerminal(transientUnit(run), screen.window(), session.signal);
      const { keys, show, takeBack } = screen.lend();
      const forget = screen.onResize(() => shell.resize(screen.window()));
      const leave = () => shell.leave();
      session.signal.addEventListener("abort", leave, { once: true });
      try {
        // It may have been resized while sudo asked for a password.
        shell.resize(screen.window());
        keys.pipe(shell.stdin);
        shell.stdout.pipe(show, { end: false });
        const { code } = await shell.done;
        session.signal.throwIfAborted();
        leash.mustHold();
        return code ?? undefined;
      } finally {
        session.signal.removeEventListener("abort", leave);
        keys.unpipe(shell.stdin);
        shell.stdout.unpipe(show);
        forget();
        takeBack();
      }
    });
  return session.gate.pass(action, open);
}
