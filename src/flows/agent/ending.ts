import { setTimeout as sleep } from "node:timers/promises";
import { sh } from "../../quote.js";
import type { Shell } from "../../remote/process.js";
import { run as ask } from "../../remote/run.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";

/**
 * Kills a unit without waiting for what it does. systemd is told to stop it first, so that it does not start it again. What
 * the agent keeps is whole in spite of that: SQLite rolls an unfinished write back, and files are replaced by rename. This is
 * no operation: those wait for each other on a host, and a stop that was left by Ctrl-C is still waiting there.
 */
export async function kill({ signal }: Session, { root, agent }: Ending): Promise<void> {
  const { unit } = agent.record;
  const script = sh`systemctl stop --no-block -- ${unit}; systemctl kill --signal=SIGKILL -- ${unit}`;
  await ask(root, script, { timeout: 30_000, signal });
}

export interface Ending {
  root: Shell;
  agent: Agent;
}

/** Milliseconds that an agent without a running call takes to end. */
const usual = 5000;

/** Does what ends an agent, and says what that waits for when it takes long. */
export async function whileItEnds<T>(
  { ui, signal }: Session,
  { root, agent }: Ending,
  work: () => Promise<T>,
): Promise<T> {
  const { unit } = agent.record;
  const asked = await ask(root, sh`systemctl show --property TimeoutStopUSec --value -- ${unit}`, {
    timeout: 30_000,
    signal,
  });
  const longest = asked.stdout.trim() || "some minutes";
  const over = new AbortController();
  const telling = sleep(usual, undefined, { signal: AbortSignal.any([signal, over.signal]) }).then(
    () =>
      ui.note(
        `${agent.name} finishes the model calls that are running before it ends, for up to ${longest}; ` +
          `to end it at once: Ctrl-C, then clm agent stop ${agent.ref} --now`,
      ),
    () => {},
  );
  try {
    return await work();
  } finally {
    over.abort();
    await telling;
  }
}
