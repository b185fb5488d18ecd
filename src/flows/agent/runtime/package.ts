import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CodexType } from "../../../agents/hermes/codex/runtime.js";
import { Fault } from "../../../errors.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import { lastLines, tailOf } from "../../../text/last-lines.js";
import type { Session } from "../../session.js";

/** Which Codex, and where from. */
export interface Package {
  /** Without it, the one the manifest has for who says nothing. */
  version?: string | undefined;
  /** The user's own copy. It is checked like any other. */
  file?: string | undefined;
}

/** A version for one kind of machine, pinned. */
export interface Pin {
  codex: string;
  /** As the registry calls it. */
  version: string;
  integrity: string;
  program: string;
}

/** Whether there is such a version at all can be told before anybody looks at a host. */
export function mustBeKnown({ versions, default: usual }: CodexType, { version = usual }: Package): void {
  if (Object.hasOwn(versions, version)) return;
  const known = Object.keys(versions);
  throw new Fault("bad-input", `Codex ${version} is not pinned`, {
    why: `there are ${known.join(", ")}`,
    data: { versions: known },
  });
}

/** What the manifest pins for such a machine, or a fault that says what it does. */
export function pinFor({ versions, default: usual }: CodexType, { version = usual }: Package, arch: string): Pin {
  const pin = versions[version]?.[arch];
  if (pin) return { codex: version, ...pin };
  const known = Object.keys(versions).filter((each) => versions[each]?.[arch]);
  throw new Fault("bad-input", `Codex ${version} is not pinned for ${arch}`, {
    why: known.length > 0 ? `there are ${known.join(", ")}` : "none is, for such a machine",
    data: { versions: known },
  });
}

/** A file with the pinned bytes, or a fault and nothing kept. */
export async function packageFor(
  session: Session,
  { package: name }: CodexType,
  pin: Pin,
  { file }: Package,
): Promise<string> {
  const spec = `${name}@${pin.version}`;
  if (file !== undefined) {
    await mustBePinned(file, pin, file);
    return file;
  }
  const directory = openSubdirectory(session.configDir, "cache");
  const kept = join(directory, `codex-${pin.version}.tgz`);
  if (await isPinned(kept, pin).catch(() => false)) return kept;
  const packed = await mkdtemp(join(directory, "codex-"));
  try {
    await pack(session, spec, packed);
    const [found = ""] = await readdir(packed);
    await mustBePinned(join(packed, found), pin, spec);
    await rename(join(packed, found), kept);
    return kept;
  } finally {
    await rm(packed, { recursive: true, force: true });
  }
}

async function isPinned(path: string, { integrity }: Pin): Promise<boolean> {
  return `sha512-${await digestIn(path, "base64")}` === integrity;
}

async function digestIn(path: string, encoding: "base64" | "hex"): Promise<string> {
  const hash = createHash("sha512");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest(encoding);
}

async function mustBePinned(path: string, pin: Pin, from: string): Promise<void> {
  const seen = await digestIn(path, "base64").catch((error: NodeJS.ErrnoException) => {
    throw new Fault("not-found", `${from} cannot be read`, { why: error.code ?? error.message });
  });
  if (`sha512-${seen}` === pin.integrity) return;
  throw new Fault("integrity", `${from} is not the Codex that was pinned`, {
    why: [`pinned: ${pin.integrity}`, `seen:   sha512-${seen}`],
    data: { expected: pin.integrity, seen: `sha512-${seen}` },
  });
}

/** Lets npm fetch it on this machine, with whatever registry the person here has set. Nothing of the package is run. */
function pack({ signal, env }: Session, spec: string, directory: string): Promise<void> {
  const words = ["pack", spec, "--pack-destination", directory, "--silent", "--ignore-scripts"];
  return new Promise((done, failed) => {
    const child = spawn("npm", words, { stdio: ["ignore", "ignore", "pipe"], env, signal, cwd: directory });
    const complaint = tailOf(child.stderr);
    const trouble = (why: string) => {
      signal.throwIfAborted();
      throw new Fault("local-setup", `npm could not fetch ${spec}`, {
        why,
        next: `npm pack ${spec}   # where there is a way; then again with --codex-file FILE`,
      });
    };
    const end = (why?: string) => {
      try {
        done(why === undefined ? undefined : trouble(why));
      } catch (error) {
        failed(error);
      }
    };
    child.on("error", (error: NodeJS.ErrnoException) =>
      end(error.code === "ENOENT" ? "there is no npm on this machine" : error.message),
    );
    child.on("close", (code) => end(code === 0 ? undefined : lastLines(complaint(), 1, `it ended with ${code}`)[0]));
  });
}
