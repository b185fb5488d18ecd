import { readFile } from "node:fs/promises";
import { type AnyAuthMethod, type AuthHandlerMiddleware, BaseAgent, createAgent, type ParsedKey, utils } from "ssh2";
import type { Secret } from "../secret.js";

/** Provides passphrases and passwords; undefined when no person can be asked. */
export interface Credentials {
  passphrase(identity: string): Promise<Secret | undefined>;
  password(login: string): Promise<Secret | undefined>;
}

export interface LoginSettings {
  user: string;
  hostname: string;
  identityFiles: string[];
  agent?: string | undefined;
  /** When set, only these of the agent's keys are shown to the host. */
  agentKeys?: Buffer[] | undefined;
}

/** The attempts, for the message when all failed. */
export interface LoginAttempts {
  handler: AuthHandlerMiddleware;
  tried: string[];
  /** The reason when a person, not the host, ended the attempts by declining to answer. */
  readonly failure: unknown;
}

/**
 * OpenSSH's order: the agent's keys, key files, then a password. Each is prepared only when tried, so a passphrase is
 * asked for only after the agent's keys were refused.
 */
export function loginAttempts(settings: LoginSettings, credentials: Credentials): LoginAttempts {
  const { user: username, hostname } = settings;
  const tried: string[] = [];
  const login = `${username}@${hostname}`;

  // Methods the host still accepts, as of its latest refusal; null before the first.
  let accepted: readonly string[] | null = null;

  async function* attempts(): AsyncGenerator<AnyAuthMethod> {
    if (settings.agent) {
      tried.push("ssh agent");
      yield { type: "agent", username, agent: new ForgivingAgent(settings.agent, settings.agentKeys) };
    }
    for (const identity of settings.identityFiles) {
      const key = await readKey(identity, () => credentials.passphrase(identity));
      if (typeof key === "string") {
        tried.push(`${identity} (${key})`);
        continue;
      }
      tried.push(identity);
      yield { type: "publickey", username, key };
    }
    if (accepted === null) yield { type: "none", username };
    for (const type of ["password", "keyboard-interactive"] as const) {
      if (!accepted?.includes(type)) continue;
      const password = await credentials.password(login);
      if (!password) return;
      tried.push(type);
      const answer = password.reveal();
      if (type === "password") yield { type, username, password: answer };
      else yield { type, username, prompt: (_n, _i, _l, prompts, finish) => finish(prompts.map(() => answer)) };
    }
  }

  const turn = attempts();
  let failure: unknown;
  return {
    tried,
    get failure() {
      return failure;
    },
    handler: (methodsLeft, _partial, next) => {
      accepted = methodsLeft;
      // ssh2 takes `false` for "nothing left to try"; its types do not say so.
      const none = false as never;
      turn.next().then(
        ({ value }) => next(value ?? none),
        (error) => {
          failure = error;
          next(none);
        },
      );
    },
  };
}

/** The private key in a file, or why it cannot be used. */
async function readKey(path: string, passphrase: () => Promise<Secret | undefined>): Promise<ParsedKey | string> {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => error);
  if (content instanceof Error) return readErrors[content.code ?? ""] ?? content.message;
  const first = parse(content);
  if (!(first instanceof Error)) return first;
  if (!/encrypted|passphrase/i.test(first.message)) return "not a key ssh2 can read";
  const secret = await passphrase();
  if (!secret) return "needs a passphrase";
  const second = parse(content, secret.reveal());
  return second instanceof Error ? "wrong passphrase" : second;
}

const readErrors: Record<string, string> = {
  ENOENT: "not there",
  EISDIR: "a directory",
  EACCES: "not readable by you",
};

function parse(content: Buffer, passphrase?: string): ParsedKey | Error {
  const parsed = utils.parseKey(content, passphrase);
  return Array.isArray(parsed) ? (parsed[0] ?? new Error("empty key file")) : parsed;
}

/**
 * An agent that is not running has no keys; ssh2 would end the connection although other methods are left. With `only`,
 * the agent's other keys are not offered: sshd gives up after six, and the right one may be the seventh.
 */
class ForgivingAgent extends BaseAgent<ParsedKey> {
  readonly #agent: BaseAgent<ParsedKey>;
  readonly #only: Buffer[] | undefined;

  constructor(path: string, only?: Buffer[]) {
    super();
    this.#agent = createAgent(path) as BaseAgent<ParsedKey>;
    this.#only = only;
  }

  override getIdentities(done: (error: Error | undefined | null, keys?: ParsedKey[]) => void): void {
    const wanted = (key: ParsedKey) => this.#only?.some((blob) => blob.equals(key.getPublicSSH())) ?? true;
    this.#agent.getIdentities((error, keys) => done(null, error ? [] : (keys as ParsedKey[]).filter(wanted)));
  }

  override sign(...args: [ParsedKey, Buffer, ...unknown[]]): void {
    (this.#agent.sign as (...args: unknown[]) => void).apply(this.#agent, args);
  }
}
