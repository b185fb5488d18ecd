import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import * as allowed from "./allowed.js";

/** Desired state as data: `converge` makes it so, or does nothing when it is so already. All times are milliseconds. */
export type Operation =
  | UserOperation
  | DirOperation
  | FileOperation
  | UnitOperation
  | AbsentOperation
  | PkgOperation
  | RunOperation
  | JobOperation;

interface OperationBase {
  /** For messages: `file /home/x/.env`. */
  readonly id: string;
}

export type Content = string | Buffer | Secret;

export interface UserSpec {
  name: string;
  home: string;
  shell: string;
  locked?: boolean;
  system?: boolean;
  /** Groups it must be in; others are left alone. */
  groups?: string[];
  comment?: string;
}

export interface UserOperation extends OperationBase, UserSpec {
  readonly kind: "user";
}

interface Ownership {
  owner: string;
  /** Defaults to the owner's own group. */
  group?: string;
  mode: number;
}

export interface DirOperation extends OperationBase, Ownership {
  readonly kind: "dir";
  path: string;
}

export interface FileOperation extends OperationBase, Ownership {
  readonly kind: "file";
  path: string;
  content: Content;
  /** An existing regular file keeps its content; owner and mode are enforced either way. */
  seed?: boolean;
  /** A unit that reads the file at its start: `started` restarts it when the content has changed since. */
  restarts?: string;
}

export interface UnitSpec {
  content?: string;
  enabled?: boolean;
  /** `started` also restarts a unit whose content, or a file it reads, changed since; `restarted` always does. */
  state?: "started" | "stopped" | "restarted";
}

export interface UnitOperation extends OperationBase, UnitSpec {
  readonly kind: "unit";
  name: string;
}

export interface AbsentOperation extends OperationBase {
  readonly kind: "absent";
  what: "path" | "user" | "unit";
  name: string;
  /** For messages: `unit ada.service`. */
  readonly removes: string;
}

export interface PkgOperation extends OperationBase {
  readonly kind: "pkg";
  names: string[];
}

interface Command {
  /** Everyone on the host can read it: no secrets. */
  argv: string[];
  as: string;
  timeout: number;
  /** Defaults to the user's home. */
  cwd?: string;
  /** The command is done for good when this path exists. */
  creates?: string;
}

export interface RunOperation extends OperationBase, Command {
  readonly kind: "run";
}

export interface JobOperation extends OperationBase, Command {
  readonly kind: "job";
  name: string;
}

export const user = (spec: UserSpec): UserOperation => {
  allowed.userName(spec.name);
  allowed.absolutePath(spec.home);
  allowed.absolutePath(spec.shell);
  for (const field of [spec.home, spec.shell, spec.comment ?? ""]) allowed.passwdField(field);
  spec.groups?.forEach(allowed.groupName);
  return { kind: "user", id: `user ${spec.name}`, ...spec };
};

const checkOwnership = (spec: Ownership): void => {
  allowed.userName(spec.owner);
  if (spec.group !== undefined) allowed.groupName(spec.group);
  allowed.mode(spec.mode);
};

/** One directory; its parent must exist. */
export const dir = (path: string, spec: Ownership): DirOperation => {
  checkOwnership(spec);
  return { kind: "dir", id: `directory ${readable(path)}`, path: allowed.absolutePath(path), ...spec };
};

/** A regular file with exactly this content, or with this as its first content (`seed`). Secret content is never shown. */
export const file = (
  path: string,
  spec: Ownership & { content: Content; secret?: boolean; seed?: boolean; restarts?: string },
): FileOperation => {
  const { content, secret, ...rest } = spec;
  checkOwnership(rest);
  if (rest.restarts !== undefined) allowed.unitName(rest.restarts);
  const kept = secret ? asSecret(content) : content;
  return { kind: "file", id: `file ${readable(path)}`, path: allowed.absolutePath(path), ...rest, content: kept };
};

/** A unit of the system manager; with content, a file of ours in /etc/systemd/system. */
export const unit = (name: string, spec: UnitSpec): UnitOperation => ({
  kind: "unit",
  id: `unit ${name}`,
  name: allowed.unitName(name),
  ...spec,
});

/** Removed with all that belongs to it: what is below a path, a user's processes and home, a unit's file. */
export const absent = (thing: { path: string } | { user: string } | { unit: string }): AbsentOperation => {
  if ("path" in thing) {
    const name = allowed.removablePath(thing.path);
    return gone("path", name, readable(name));
  }
  if ("user" in thing) {
    if (thing.user === "root") throw new Fault("bad-input", "clm does not remove root");
    return gone("user", allowed.userName(thing.user), `user ${thing.user}`);
  }
  return gone("unit", allowed.unitName(thing.unit), `unit ${thing.unit}`);
};

const gone = (what: AbsentOperation["what"], name: string, removes: string): AbsentOperation => ({
  kind: "absent",
  id: `no ${removes}`,
  what,
  name,
  removes,
});

/** Debian packages, installed. Their real names: a virtual package never counts as installed. */
export const pkg = (names: string[]): PkgOperation => ({
  kind: "pkg",
  id: `packages ${names.join(", ")}`,
  names: names.map(allowed.packageName),
});

type RunSpec = Partial<Omit<Command, "argv">> & { title?: string; env?: Record<string, string> } & (
    | { argv: string[] }
    | { script: string }
  );

/** A short command, run to its end; it must leave no process behind. Without `creates` it runs every time. */
export const run = (spec: RunSpec): RunOperation => {
  const argv = "argv" in spec ? spec.argv : ["sh", "-eu", "-c", spec.script];
  const id = `run ${spec.title ?? brief("argv" in spec ? spec.argv.join(" ") : spec.script)}`;
  return { kind: "run", id, ...command({ as: "root", timeout: 600_000, ...spec, argv }) };
};

/** Long work as a transient unit that outlives the connection. Only started here; `followJob` waits for its end. */
export const job = (spec: Command & { name: string; env?: Record<string, string> }): JobOperation => ({
  kind: "job",
  id: `job ${spec.name}`,
  name: allowed.jobName(spec.name),
  ...command(spec),
});

function command(spec: Command & { env?: Record<string, string> }): Command {
  const { argv, as, timeout, cwd, creates, env = {} } = spec;
  allowed.userName(as);
  allowed.timeout(timeout);
  const variables = Object.entries(env).map(([name, value]) => `${allowed.variableName(name)}=${value}`);
  if (argv.length === 0) throw new Fault("bad-input", "a command needs at least one word");
  return {
    argv: variables.length > 0 ? ["env", ...variables, ...argv] : argv,
    as,
    timeout,
    ...(cwd !== undefined && { cwd: cwd === "/" ? cwd : allowed.absolutePath(cwd) }),
    ...(creates !== undefined && { creates: allowed.absolutePath(creates) }),
  };
}

/** Equal for two jobs of one name that are the same job. */
export function jobDigest(job: JobOperation): string {
  const { argv, as, cwd = "" } = job;
  return createHash("sha256")
    .update(JSON.stringify([argv, as, cwd]))
    .digest("hex")
    .slice(0, 16);
}

export function bytesOf(content: Content): Buffer {
  if (content instanceof Secret) return Buffer.from(content.reveal());
  return typeof content === "string" ? Buffer.from(content) : content;
}

function asSecret(content: Content): Secret {
  if (content instanceof Secret) return content;
  if (typeof content === "string") return new Secret(content);
  if (isUtf8(content)) return new Secret(content.toString());
  throw new Fault("bad-input", "a secret file must be text");
}

const brief = (text: string): string => readable(text.length > 80 ? `${text.slice(0, 79)}…` : text);

/** One line without control characters. */
function readable(text: string): string {
  return text.replace(/\p{Cc}/gu, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
