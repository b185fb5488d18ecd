import type { ConnectOptions } from "../remote/connect.js";
import { type Trust, trustIn } from "../remote/host-keys/trust.js";
import { createPool, type Pool } from "../remote/pool.js";
import { PromptClock } from "../remote/prompt-clock.js";
import { type Fleet, hostStore } from "../state/hosts.js";
import { withLock } from "../state/lock.js";
import { type Providers, providerStore } from "../state/providers.js";
import { openSecrets, type Secrets } from "../state/secrets.js";
import type { Store } from "../state/store.js";
import type { InStream } from "../ui/streams.js";
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
  /** The words typed. */
  argv: string[];
  /** What was piped in. Opened only by who reads it. */
  stdin: () => InStream;
  gate: Gate;
  hosts: Store<Fleet>;
  providers: Store<Providers>;
  secrets: Secrets;
  /** One at a time changes what a host is in more than one file: its record, its pin, its secrets. */
  inFleet<T>(work: () => Promise<T>): Promise<T>;
  trust: Trust;
  /** How to reach a host; `pool` is made of these. */
  means: ConnectOptions;
  pool: Pool;
  /** Makes deadlines that do not count the time in which a person types a password. */
  clock: PromptClock;
}

/** The part of a command's context that a session is made of. */
export type Setting = Pick<Session, "ui" | "configDir" | "env" | "now" | "signal" | "argv" | "stdin"> & {
  yes: boolean;
  dryRun: boolean;
  /** Where a script keeps the sudo password. */
  sudoPasswordFile?: string | undefined;
  /** Milliseconds a host may take to answer, where that is not the usual time. */
  timeout?: number | undefined;
};

/** Opens a session, does the work, and closes every connection it made, whatever happened. */
export async function withSession<T>(setting: Setting, work: (session: Session) => Promise<T>): Promise<T> {
  const { ui, configDir, env, now, signal, argv, stdin } = setting;
  const trust = trustIn(configDir);
  const clock = new PromptClock();
  const means: ConnectOptions = {
    trust,
    credentials: clock.wrap(askingPerson(setting)),
    env,
    ownKey: keyPath(configDir, "clm"),
    signal,
    timeout: setting.timeout,
    debug: (line) => ui.debug(line),
  };
  const pool = createPool(means);
  const lock = { what: `clm ${argv.slice(0, 2).join(" ")}`, signal };
  try {
    return await work({
      ...{ ui, configDir, env, now, signal, argv, stdin, trust, means, pool, clock },
      gate: createGate(setting),
      hosts: hostStore(configDir, lock),
      providers: providerStore(configDir, lock),
      secrets: openSecrets(configDir, { ...lock, now }),
      inFleet: (change) => withLock(configDir, "fleet", lock, change),
    });
  } finally {
    pool.close();
  }
}
