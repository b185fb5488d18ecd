import type { Duplex, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSSH } from "node-ssh";
import type { ClientChannel } from "ssh2";
import { limit } from "../async/limit.js";
import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";
import { coalesceWrites } from "./coalesce-writes.js";
import type { HostKey } from "./host-keys/key.js";
import type { Exit, Shell } from "./process.js";
import { rootOnTerminal, type TerminalProcess, type Window } from "./root-terminal.js";
import { type Passwords, withRightsOf } from "./sudo.js";
import type { SudoKind, Target } from "./target/target.js";

// A default sshd refuses the 11th channel on a connection (MaxSessions 10); two are left for other users of it.
const channelsPerHost = 8;

/** An open connection to one host: its key is trusted and the login succeeded. */
export interface Connection extends Shell {
  readonly target: Target;
  readonly user: string;
  /** As in Shell; `sudo` overrides how root is reached when the record may be out of date. */
  as(user: string, sudo?: SudoKind): Shell;
  readonly hostKey: HostKey;
  /** Runs a command as root on a pseudo-terminal; `signal` ends the wait for it. */
  onTerminal(command: string, window: Window, signal: AbortSignal): Promise<TerminalProcess>;
  /** A stream to a port on the host's own loopback (or to `address` as the host sees it). */
  forward(port: number, address?: string, signal?: AbortSignal): Promise<Duplex>;
  close(): void;
  readonly open: boolean;
  readonly closed: Promise<void>;
  /** The fault for code that was using the connection. */
  lost(): Fault;
}

export interface Login {
  target: Target;
  user: string;
  hostKey: HostKey;
  passwords: Passwords;
  /** The command's signal: aborts the wait for a channel that is being opened. */
  signal?: AbortSignal | undefined;
  /** Milliseconds the host may take to open a channel and to start its command. */
  startTimeout?: number | undefined;
}

// sshd needs one fork to answer; one that takes longer than this hangs, or wants us to.
const defaultStartTimeout = 10_000;

export function connection(client: NodeSSH, login: Login): Connection {
  const { target, user, hostKey, passwords, startTimeout = defaultStartTimeout } = login;
  const ssh = client.connection;
  if (!ssh) throw lost(target, "it was closed at once");
  coalesceWrites((ssh as unknown as ClientInternals)._sock);
  const slot = limit(channelsPerHost);
  let reason = "the connection ended";
  let open = true;
  // node-ssh removes its listener once connected, and an unhandled 'error' event would end the program.
  ssh.on("error", (error: Error & { level?: string }) => {
    reason = error.level === "client-timeout" ? "it stopped answering" : error.message;
  });
  const closed = new Promise<void>((resolve) => ssh.once("close", resolve)).then(() => {
    open = false;
  });

  // A short command's output, exit and close can arrive in one packet with the reply to exec, and ssh2 emits all of
  // them before any promise continues: listeners must be attached in the callback.
  const openChannel = (command: string, signal: AbortSignal | undefined, window?: Window): Promise<TerminalProcess> => {
    const opened = new Promise<TerminalProcess>((resolve, reject) => {
      const pty = window && { term: window.term, rows: window.rows, cols: window.columns };
      ssh.exec(command, pty ? { pty } : {}, (error, channel) => {
        if (error) reject(error);
        else resolve(channelProcess(channel, () => lost(target, reason)));
      });
    });
    const late = () => unanswered(target, "start a command", startTimeout);
    return waitFor(opened, { signal, timeout: startTimeout, late, drop: (process) => process.kill("TERM") });
  };

  /** The signal that ends the wait for a channel. Commands started after an abort clean up, and may run. */
  const waitSignal = (signal: AbortSignal | undefined): AbortSignal | undefined => {
    const own = login.signal?.aborted ? undefined : login.signal;
    return signal && own ? AbortSignal.any([signal, own]) : (signal ?? own);
  };

  function start(
    command: string,
    { signal }: { signal?: AbortSignal } = {},
    window?: Window,
  ): Promise<TerminalProcess> {
    const waits = waitSignal(signal);
    const opened = new Promise<TerminalProcess>((started, failed) => {
      slot(async () => {
        waits?.throwIfAborted();
        const process = await retryChannel(() => openChannel(command, waits, window)).catch((error: Error) => {
          if (waits?.aborted || error instanceof Fault) throw error;
          // A closed socket fails here before its close event arrives.
          throw open && error.message !== "Not connected" ? refused(target, error) : lost(target, reason);
        });
        const stop = () => process.kill("TERM");
        signal?.addEventListener("abort", stop, { once: true });
        // Aborted while the channel was being opened.
        if (signal?.aborted) stop();
        started(process);
        await process.done.catch(() => {});
        signal?.removeEventListener("abort", stop);
      }).catch(failed);
    });
    // Also while waiting for a free channel.
    return waitFor(opened, { signal: waits, drop: (process) => process.kill("TERM") });
  }

  const self: Connection = {
    target,
    user,
    spawn: (command, options) => start(command, options),
    hostKey,
    as: (other, sudo = target.sudo) => withRightsOf(other, { host: self, sudo, passwords }),
    onTerminal: (command, window, signal) =>
      rootOnTerminal(command, { host: self, sudo: target.sudo, passwords }, (line) => start(line, {}, window), signal),
    async forward(port, address = "127.0.0.1", signal) {
      const late = () => unanswered(target, `connect to ${address}:${port}`, startTimeout);
      const drop = (stream: Duplex) => void stream.destroy();
      const waits = waitSignal(signal);
      try {
        const opened = client.forwardOut("127.0.0.1", 0, address, port);
        return await waitFor<Duplex>(opened, { signal: waits, timeout: startTimeout, late, drop });
      } catch (error) {
        if (waits?.aborted || error instanceof Fault) throw error;
        if (!open) throw lost(target, reason);
        if ((error as { reason?: unknown }).reason === prohibited) throw forwardsNothing(target, `${address}:${port}`);
        throw new Fault("remote-failed", `${target.name} cannot reach ${address}:${port}`, {
          why: (error as Error).message,
          cause: error,
        });
      }
    },
    close() {
      client.dispose();
      // A host that never closes its side would keep the socket open, and `closed` pending.
      setTimeout(() => ssh.destroy(), grace).unref();
    },
    get open() {
      return open;
    },
    closed,
    lost: () => lost(target, reason),
  };
  return self;
}

const grace = 500;

// RFC 4254, 5.1: administratively prohibited. sshd replies so when its settings forbid it, not when the port is closed.
const prohibited = 1;

/** The part of ssh2's client that its types leave out. */
interface ClientInternals {
  _sock: Writable;
}

interface ChannelInternals {
  outgoing: { id: number };
  _client: { _protocol: { signal(channel: number, name: string): void } };
}

/**
 * sshd frees a closed channel only after it has read everything sent with the close. A channel opened right after finds
 * the old ones still counted (seen: 8 at a time, 40 in a row, refused by a MaxSessions of 10).
 */
async function retryChannel<T>(attempt: () => Promise<T>, left = 6): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (left === 0 || !("reason" in (error as object))) throw error;
    await sleep(20 + Math.random() * 60);
    return retryChannel(attempt, left - 1);
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
  // sshd closes a channel only when the process has ended, which may be never: the wait is limited to this.
  const leave = () => {
    if (closed) return;
    channel.close();
    setTimeout(() => {
      closed = true;
      channel.push(null);
      channel.stderr.push(null);
      left();
    }, grace).unref();
  };
  // Process promises that stdin emits no errors.
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
      const { _client, outgoing } = channel as unknown as ChannelInternals;
      _client._protocol.signal(outgoing.id, signal);
      leave();
    },
    leave,
    resize: ({ rows, columns }) => {
      if (!closed) channel.setWindow(rows, columns, 0, 0);
    },
  };
}

function refused(target: Target, error: Error): Fault {
  return new Fault("remote-failed", `${target.name} refused to start another command`, {
    why: error.message,
    cause: error,
  });
}

const unanswered = ({ name }: Target, request: string, timeout: number): Fault =>
  new Fault("remote-timeout", `${name} did not ${request} within ${timeout / 1000} s`, {
    why: "its SSH server accepted the request and did not answer",
    next: `clm host check ${name}`,
  });

function forwardsNothing({ name, jump }: Target, to: string): Fault {
  return new Fault("unsupported", `the SSH server of ${name} does not forward to ${to}`, {
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
