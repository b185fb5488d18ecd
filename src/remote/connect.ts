import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Duplex } from "node:stream";
import { NodeSSH } from "node-ssh";
import type { Algorithms } from "ssh2";
import { waitFor } from "../async/wait.js";
import { asFault, Fault } from "../errors.js";
import { type Connection, connection } from "./connection.js";
import { preferredAlgorithms } from "./host-keys/algorithms.js";
import { type HostKey, hostKeyFrom, parsePublicKey } from "./host-keys/key.js";
import { lookupName } from "./host-keys/known-hosts.js";
import type { Trust } from "./host-keys/trust.js";
import { type Credentials, loginAttempts } from "./login.js";
import { PromptClock } from "./prompt-clock.js";
import type { Passwords } from "./sudo.js";
import { sshSettings } from "./target/ssh-config.js";
import { keepAliveFor, type SshSettings } from "./target/ssh-settings.js";
import type { Target } from "./target/target.js";

export interface ConnectOptions {
  trust: Trust;
  credentials: Credentials & Passwords;
  env: NodeJS.ProcessEnv;
  /** clm's own key, tried after the user's when the host's record has no identity. */
  ownKey?: string | undefined;
  debug?: ((line: string) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Milliseconds for connect and key exchange; login may take twice as long again. ConnectTimeout in the ssh config wins. */
  timeout?: number | undefined;
}

// No SHA-1, no CBC, nothing below 2048 bits: what OpenSSH 9 itself still offers, less what only old peers need.
const algorithms: Algorithms = {
  kex: [
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group-exchange-sha256",
    "diffie-hellman-group14-sha256",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group18-sha512",
  ],
  cipher: [
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "chacha20-poly1305@openssh.com",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
  ],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
};

// A host may refuse any number of keys, slowly, one after the other.
const loginFactor = 3;

/** Connects, checks the host's key, and only then logs in; through the hops that `ProxyJump` names, if any. */
export async function connect(target: Target, options: ConnectOptions, behind: string[] = []): Promise<Connection> {
  const settings = await sshSettings(target, options.env, options.debug);
  if (behind.includes(target.name)) throw jumpCycle([...behind, target.name]);
  let jump: Connection | undefined;
  try {
    for (const hop of settings.proxyJump.map(hopTarget)) {
      // As in OpenSSH, only the first hop's own ProxyJump counts; the others are reached through the hop before.
      jump = jump
        ? await dialThrough(jump, hop, await sshSettings(hop, options.env), options)
        : await connect(hop, options, [...behind, target.name]);
    }
    return jump ? await dialThrough(jump, target, settings, options) : await dial(target, settings, options);
  } catch (error) {
    jump?.close();
    throw error;
  }
}

/** A hop's key is pinned under its address. */
function hopTarget({ hostname, port, user }: SshSettings["proxyJump"][number]): Target {
  return { name: lookupName(hostname, port ?? 22), address: hostname, port, user, jump: true };
}

function jumpCycle(hops: string[]): Fault {
  return new Fault("bad-input", "the ProxyJump settings in your ssh config go in a circle", { why: hops.join(" → ") });
}

async function dialThrough(
  jump: Connection,
  target: Target,
  settings: SshSettings,
  options: ConnectOptions,
): Promise<Connection> {
  const stream = await jump.forward(settings.port, settings.hostname, options.signal);
  const connected = await dial(target, settings, options, stream);
  connected.closed.then(() => jump.close());
  return connected;
}

async function dial(
  target: Target,
  settings: SshSettings,
  options: ConnectOptions,
  sock?: Duplex,
): Promise<Connection> {
  const { signal } = options;
  const timeout = settings.connectTimeout ?? options.timeout ?? 10_000;
  const alive = keepAliveFor(settings.alive);
  signal?.throwIfAborted();
  const expected = await options.trust.expect(target, settings);
  const client = new NodeSSH();
  let untrusted: Fault | undefined;
  let shown: HostKey = { type: "", blob: Buffer.alloc(0) };
  let loggingIn = false;

  // The host's time for each answer and in total, without the time a person takes to answer a prompt.
  const clock = new PromptClock();
  const late = () => new Fault("unreachable", "no answer in time");
  const [answer, login] = [clock.deadline(timeout, late), clock.deadline(timeout * loginFactor, late)];
  const ranOut = AbortSignal.any([answer.signal, login.signal]);

  const loginWith = await loginSettings(target, settings, options);
  const attempts = loginAttempts(loginWith, clock.wrap(options.credentials));
  try {
    signal?.throwIfAborted();
    const connecting = client.connect({
      ...(sock ? { sock } : { host: settings.hostname, port: settings.port }),
      username: settings.user,
      algorithms: { ...algorithms, serverHostKey: preferredAlgorithms(expected.keys) },
      // Called before any authentication packet is sent; a refusal ends the connection there.
      hostVerifier: (blob: Buffer) => {
        try {
          shown = hostKeyFrom(blob);
          untrusted = expected.judge(shown);
        } catch (error) {
          untrusted = asFault(error);
        }
        return untrusted === undefined;
      },
      authHandler: (left, partial, next) => {
        loggingIn = true;
        answer.restart();
        attempts.handler(left, partial, next);
      },
      readyTimeout: 0,
      keepaliveInterval: alive.milliseconds,
      keepaliveCountMax: alive.unanswered,
      ...(options.debug && { debug: (line: string) => options.debug?.(`${target.name}: ${line}`) }),
    });
    // Without it each small packet waits for the host's delayed ACK: 40 ms, five times per login.
    client.connection?.setNoDelay(true);
    connecting.catch(() => {});
    // Destroying the socket is not enough: during the DNS lookup there is none yet.
    await waitFor(connecting, { signal: AbortSignal.any(signal ? [ranOut, signal] : [ranOut]) });
  } catch (error) {
    client.connection?.destroy();
    if (signal?.aborted) throw signal.reason;
    if (untrusted) throw untrusted;
    if (attempts.failure) throw attempts.failure;
    const refused = loggingIn && !ranOut.aborted && /authentication/i.test((error as Error).message);
    throw refused
      ? loginRefused(target, settings, attempts.tried, error as Error)
      : unreachable(target, settings, error as Error, ranOut.aborted);
  } finally {
    answer.stop();
    login.stop();
  }
  const startTimeout = options.timeout === undefined ? undefined : Math.min(options.timeout, 10_000);
  const { user } = settings;
  return connection(client, { target, user, hostKey: shown, passwords: options.credentials, signal, startTimeout });
}

/** With a configured identity the agent offers only that key, as `ssh -i` with IdentitiesOnly does. */
async function loginSettings(target: Target, settings: SshSettings, { env, ownKey }: ConnectOptions) {
  const { user, hostname, identitiesOnly, identityAgent } = settings;
  const own = ownKey && !target.identity && existsSync(ownKey) ? [ownKey] : [];
  const identityFiles = [...settings.identityFiles, ...own];
  const agent = identityAgent === "none" ? undefined : (identityAgent ?? env.SSH_AUTH_SOCK);
  const publicKeys = await Promise.all(
    identityFiles.map((file) =>
      readFile(`${file}.pub`, "utf8").then(
        (line) => parsePublicKey(line)?.blob,
        () => undefined,
      ),
    ),
  );
  const agentKeys = identitiesOnly ? publicKeys.filter((blob) => blob !== undefined) : undefined;
  return { user, hostname, identityFiles, agent, agentKeys };
}

function loginRefused(target: Target, { user, hostname, port }: SshSettings, tried: string[], error: Error): Fault {
  return new Fault("auth-refused", `${target.name} did not let ${user} in`, {
    why: [
      tried.length > 0 ? `tried: ${tried.join(", ")}` : "clm found no key or password to log in with",
      ...(/All configured authentication/.test(error.message) ? [] : [error.message]),
    ],
    next:
      tried.length > 0
        ? `ssh ${port === 22 ? "" : `-p ${port} `}${user}@${hostname}`
        : "clm init   # makes a key to put on the host",
    cause: error,
  });
}

/** sshd drops connections before the handshake when too many start at once (MaxStartups): the pool retries it. */
export class DroppedAtStart extends Fault {}

function unreachable(
  target: Target,
  { hostname, port }: SshSettings,
  error: NodeJS.ErrnoException,
  ranOut: boolean,
): Fault {
  const reason = ranOut ? "no answer in time" : (reasons[error.code ?? ""] ?? error.message);
  const dropped = !ranOut && /before handshake|ECONNRESET/.test(error.message);
  const Kind = dropped ? DroppedAtStart : Fault;
  return new Kind("unreachable", `cannot reach ${target.name} at ${hostname} port ${port}`, {
    why: reason,
    next: `ssh -v -p ${port} ${hostname}`,
    cause: error,
  });
}

const reasons: Record<string, string> = {
  ECONNREFUSED: "nothing listens there (connection refused)",
  EHOSTUNREACH: "no route to it (host unreachable)",
  ENETUNREACH: "no route to it (network unreachable)",
  ETIMEDOUT: "no answer in time",
  ENOTFOUND: "no such name in DNS",
  EAI_AGAIN: "DNS did not answer",
};
