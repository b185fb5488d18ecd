import type { Means } from "../remote/connect.js";
import { type Trust, trustIn } from "../remote/host-keys/trust.js";
import { createPool, type Pool } from "../remote/pool.js";
import type { Ui } from "../ui/ui.js";
import { askingPerson } from "./credentials.js";
import { createGate, type Gate } from "./gate.js";
import { keyPath } from "./keypath.js";

/** What a flow works with. */
export interface Session {
  ui: Ui;
  configDir: string;
  env: NodeJS.ProcessEnv;
  now: () => Date;
  signal: AbortSignal;
  gate: Gate;
  trust: Trust;
  /** How to reach a host; `pool` is made of these. */
  means: Means;
  pool: Pool;
}

/** The part of a command's context that a session is made of. */
export type Setting = Pick<Session, "ui" | "configDir" | "env" | "now" | "signal"> & {
  yes: boolean;
  dryRun: boolean;
  argv: string[];
  /** Where a script keeps the sudo password. */
  sudoPasswordFile?: string | undefined;
};

/** Opens a session, does the work, and closes every connection it made, whatever happened. */
export async function withSession<T>(setting: Setting, work: (session: Session) => Promise<T>): Promise<T> {
  const { ui, configDir, env, now, signal } = setting;
  const trust = trustIn(configDir);
  const means: Means = {
    trust,
    credentials: askingPerson(setting),
    env,
    ownKey: keyPath(configDir, "clm"),
    signal,
    debug: (line) => ui.debug(line),
  };
  const pool = createPool(means);
  try {
    return await work({ ui, configDir, env, now, signal, gate: createGate(setting), trust, means, pool });
  } finally {
    pool.close();
  }
}
