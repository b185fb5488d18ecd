import type { Readable, Writable } from "node:stream";
import { transientUnit } from "../../../agents/transient-unit.js";
import type { Window } from "../../../remote/root-terminal.js";
import { fullName, titleOf } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { leashOn } from "./leash.js";

/** The terminal in front of a person, while a shell somewhere else has it. */
export interface Screen {
  window(): Window;
  /** Calls back whenever the window is another; returns how to stop that. */
  onResize(changed: () => void): () => void;
  /** From now on every key is passed on as it is; returns how to have the terminal back as it was. */
  lend(): { keys: Readable; show: Writable; takeBack: () => void };
}

// Its account has no shell, and programs that start one look at SHELL.
const anyShell = ["/bin/sh", "-c", 'SHELL=$(command -v bash || echo /bin/sh); export SHELL; exec "$SHELL"'];

/** Shell: a person at a terminal with the rights and the environment of an agent. Returns its exit code. */
export async function shellIn(session: Session, word: string, screen: Screen): Promise<number | undefined> {
  const target = await targetOf(session, word);
  const { agent, subject } = target;
  const deed = {
    verb: "agent shell",
    target: fullName(agent),
    summary: `open a shell in ${titleOf(agent)}`,
  };
  const open = async () => {
    const connection = await session.pool.connect(agent.host);
    const leash = await leashOn(session, connection, [target]);
    let how: "done" | "stop" = "stop";
    try {
      const env = leash.hasEnv(target);
      const run = { subject, unit: leash.unit(), sign: leash.sign, env, streams: "pty", words: anyShell } as const;
      const shell = await connection.onTerminal(transientUnit(run), screen.window(), session.signal);
      const { keys, show, takeBack } = screen.lend();
      const forget = screen.onResize(() => shell.resize(screen.window()));
      const leave = () => shell.leave();
      session.signal.addEventListener("abort", leave, { once: true });
      try {
        // It may have been made another size while sudo was asked.
        shell.resize(screen.window());
        keys.pipe(shell.stdin);
        shell.stdout.pipe(show, { end: false });
        const { code } = await shell.done;
        session.signal.throwIfAborted();
        leash.mustHold();
        how = "done";
        return code ?? undefined;
      } finally {
        session.signal.removeEventListener("abort", leave);
        keys.unpipe(shell.stdin);
        shell.stdout.unpipe(show);
        forget();
        takeBack();
      }
    } finally {
      await leash.end(how);
    }
  };
  return session.gate.pass(deed, open);
}
