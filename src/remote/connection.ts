import type { Duplex, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSSH } from "node-ssh";
import type { ClientChannel } from "ssh2";
import { Fault } from "../errors.js";
import { limit } from "../limit.js";
import type { HostKey } from "./host-keys/key.js";
import { inOneWrite } from "./one-write.js";
import type { Exit, Shell } from "./process.js";
import { rootOnTerminal, type TerminalProcess, type Window } from "./root-terminal.js";
import { type Passwords, withRightsOf } from "./sudo.js";
import type { SudoKind, Target } from "./target.js";

// A default sshd refuses the 11th channel on a connection (MaxSessions 10); two are left for whoever else shares it.
const channelsPerHost = 8;

/** A live, trusted, logged-in road to one host. */
export interface Connection extends Shell {
  readonly target: Target;
  readonly user: string;
  /** As in Shell; `sudo` says how root is reached when the record may be out of date. */
  as(user: string, sudo?: SudoKind): Shell;
  /** The key it showed, which was trusted. */
  readonly hostKey: HostKey;
  /** Runs a command as root on a terminal of its own. Whatever is typed there is for the command; `signal` stops the wait for it. */
  onTerminal(command: string, window: Window, signal: AbortSignal): Promise<TerminalProcess>;
  /** A stream to a port on the host's own loopback (or to `address` as the host sees it). */
  forward(port: number, address?: string): Promise<Duplex>;
  close(): void;
  readonly open: boolean;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  /** How that is told to who was using it. */
  lost(): Fault;
}

export interface Login {
  target: Target;
  user: string;
  hostKey: HostKey;
  passwords: Passwords;
}

/** Wraps a connected client. */
export function connection(client: NodeSSH, { target, user, hostKey, passwords }: Login): Connection {
  const ssh = client.connection;
  if (!ssh) throw lost(target, "it was closed at once");
  inOneWrite((ssh as unknown as Socketed)._sock);
  const slot = limit(channelsPerHost);
  let reason = "the connection ended";
  let open = true;
  // node-ssh stops listening once connected, and an unheard 'error' would end the program.
  ssh.on("error", (error: Error & { level?: string }) => {
    reason = error.level === "client-timeout" ? "it stopped answering" : error.message;
  });
  const closed = new Promise<void>((resolve) => ssh.once("close", resolve)).then(() => {
    open = false;
  });

  // A short command's output, exit and close can arrive in one packet with the answer to exec, and ssh2 tells of all of
  // them before any promise moves on: whoever listens must be there when the channel is.
  const openChannel = (command: string, window?: Window): Promise<TerminalProcess> =>
    new Promise((resolve, reject) => {
      const pty = window && { term: window.term, rows: window.rows, cols: window.columns };
      ssh.exec(command, pty ? { pty } : {}, (error, channel) => {
        if (error) reject(error);
        else resolve(channelProcess(channel, () => lost(target, reason)));
      });
    });

  function start(
    command: string,
    { signal }: { signal?: AbortSignal } = {},
    window?: Window,
  ): Promise<TerminalProcess> {
    return new Promise((started, failed) => {
      slot(async () => {
        signal?.throwIfAborted();
        const process = await patiently(() => openChannel(command, window)).catch((error: Error) => {
          // A socket that has gone is noticed here before its end is told.
          throw open && error.message !== "Not connected" ? refused(target, error) : lost(target, reason);
        });
        const stop = () => process.kill("TERM");
        signal?.addEventListener("abort", stop, { once: true });
        // It may have been aborted while the channel was being opened.
        if (signal?.aborted) stop();
        started(process);
        await process.done.catch(() => {});
        signal?.removeEventListener("abort", stop);
      }).catch(failed);
    });
  }

  const self: Connection = {
    target,
    user,
    spawn: (command, options) => start(command, options),
    hostKey,
    as: (other, sudo = target.sudo) => withRightsOf(other, { host: self, sudo, passwords }),
    onTerminal: (command, window, signal) =>
      rootOnTerminal(command, { host: self, sudo: target.sudo, passwords }, (line) => start(line, {}, window), signal),
    async forward(port, address = "127.0.0.1") {
      try {
        return await client.forwardOut("127.0.0.1", 0, address, port);
      } catch (error) {
        if (!open) throw lost(target, reason);
        if ((error as { reason?: unknown }).reason === prohibited) throw forwardsNothing(target, `${address}:${port}`);
        throw new Fault("remote-failed", `${target.name} cannot reach ${address}:${port}`, {
          why: (error as Error).message,
          cause: error,
        });
      }
    },
    close: () => client.dispose(),
    get open() {
      return open;
    },
    closed,
    lost: () => lost(target, reason),
  };
  return self;
}

const grace = 500;

// RFC 4254, 5.1: administratively prohibited. sshd says so when its settings, and not the port, are against it.
const prohibited = 1;

/** The part of ssh2's client that its types leave out. */
interface Socketed {
  _sock: Writable;
}

/** The part of ssh2's channel that its types leave out. */
interface Wired {
  outgoing: { id: number };
  _client: { _protocol: { signal(channel: number, name: string): void } };
}

/**
 * sshd gives a closed channel's place back only when it has read all that came with the close. A channel opened in the
 * same breath finds the old ones still counted (seen: 8 at a time, 40 in a row, refused by a MaxSessions of 10).
 */
async function patiently<T>(attempt: () => Promise<T>, left = 6): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (left === 0 || !("reason" in (error as object))) throw error;
    await sleep(20 + Math.random() * 60);
    return patiently(attempt, left - 1);
  }
}

function channelProcess(channel: ClientChannel, lostFault: () => Fault): TerminalProcess {
  let left: () => void = () => {};
  let closed = false;
  const done = new Promise<Exit>((resolve, reject) => {
    let exit: Exit | undefined;
    channel.on("exit", (code: number | null, signal?: string) => {
      exit = { code, ...(signal && { signal }) };
    });
    channel.on("close", () => {
      closed = true;
      // sshd reports an exit for every exec; a channel that closes without one lost its connection.
      if (exit) resolve(exit);
      else reject(lostFault());
    });
    left = () => resolve({ code: null });
  });
  done.catch(() => {});
  // sshd closes a channel only when the process has ended, which may be never: nobody waits for that longer than this.
  const leave = () => {
    if (closed) return;
    channel.close();
    setTimeout(() => {
      channel.push(null);
      channel.stderr.push(null);
      left();
    }, grace).unref();
  };
  // Here the errors of stdin end, as Process promises.
  channel.on("error", () => {});
  channel.stderr.on("error", () => {});
  return {
    stdin: channel,
    stdout: channel,
    stderr: channel.stderr,
    done,
    kill(signal = "TERM") {
      // A request on a closed channel makes sshd drop the whole connection (seen: "unknown channel 0").
      if (closed) return;
      // Not channel.signal(): ssh2 sends nothing once stdin has ended, although only data may not follow an EOF.
      (channel as unknown as Wired)._client._protocol.signal((channel as unknown as Wired).outgoing.id, signal);
      leave();
    },
    leave,
    resize: ({ rows, columns }) => {
      if (!closed) channel.setWindow(rows, columns, 0, 0);
    },
  };
}

function refused(target: Target, error: Error): Fault {
  return new Fault("remote-failed", `${target.name} would not start another command`, {
    why: error.message,
    cause: error,
  });
}

function forwardsNothing({ name, jump }: Target, to: string): Fault {
  return new Fault("unsupported", `the SSH server of ${name} does not let clm through to ${to}`, {
    why: [
      "its sshd says that it is prohibited: AllowTcpForwarding is not yes or local,",
      "or DisableForwarding, PermitOpen or a line of authorized_keys forbids it",
    ],
    next: jump ? [] : `clm host exec ${name} --sudo -- 'sshd -T | grep -Ei "forwarding|permitopen"'`,
  });
}

function lost(target: Target, why: string): Fault {
  return new Fault("connection-lost", `lost the connection to ${target.name}`, {
    why,
    next: `clm host check ${target.name}`,
  });
}
