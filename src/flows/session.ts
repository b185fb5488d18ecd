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

/** Everything a flow works with; made once per command. */
export interface Session {
  ui: Ui;
  configDir: string;
  env: NodeJS.ProcessEnv;
  now: () => Date;
  signal: AbortSignal;
  /** The command line, without `clm`. */
  argv: string[];
  /** Opened only when it is read. */
  stdin: () => InStream;
  gate: Gate;
  hosts: Store<Fleet>;
  providers: Store<Providers>;
  secrets: Secrets;
  /** For changes to more than one file of a host: its record, its pinned key, its secrets. */
  withFleetLock<T>(work: () => Promise<T>): Promise<T>;
  trust: Trust;
  /** For a connection outside of the pool. */
  connectOptions: ConnectOptions;
  pool: Pool;
  /** Makes deadlines that stop while a password is typed. */
  clock: PromptClock;
}

export type Setting = Pick<Session, "ui" | "configDir" | "env" | "now" | "signal" | "argv" | "stdin"> & {
  yes: boolean;
  dryRun: boolean;
  sudoPasswordFile?: string | undefined;
  /** Milliseconds a host may take to answer, instead of the default. */
  timeout?: number | undefined;
};

export async function withSession<T>(setting: Setting, work: (session: Session) => Promise<T>): Promise<T> {
  const { ui, configDir, env, now, signal, argv } = setting;
  const trust = trustIn(configDir);
  const clock = new PromptClock();
  const connectOptions: ConnectOptions = {
    trust,
    credentials: clock.wrap(askingPerson(setting)),
    env,
    ownKey: keyPath(configDir, "clm"),
    signal,
    timeout: setting.timeout,
    debug: (line) => ui.debug(line),
  };
  const pool = createPool(connectOptions);
  const lock = { what: `clm ${argv.slice(0, 2).join(" ")}`, signal };
  try {
    return await work({
      ...setting,
      trust,
      connectOptions,
      pool,
      clock,
      gate: createGate(setting),
      hosts: hostStore(configDir, lock),
      providers: providerStore(configDir, lock),
      secrets: openSecrets(configDir, { ...lock, now }),
      withFleetLock: (change) => withLock(configDir, "fleet", lock, change),
    });
  } finally {
    pool.close();
  }
}
