import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { RuntimeType } from "../../../agents/plan/runtime.js";
import { Fault } from "../../../errors.js";
import { openSubdirectory } from "../../../state/config-dir.js";
import { lastLines, tailOf } from "../../../text/last-lines.js";
import type { Session } from "../../session.js";

export interface Pin {
  release: string;
  /** In the registry. */
  version: string;
  integrity: string;
  program: string;
}

/** Checked before any host is asked. */
export function mustBePinned({ title, versions }: RuntimeType, version: string): void {
  if (!Object.hasOwn(versions, version)) throw notPinned(`${title} ${version} is not pinned`, Object.keys(versions));
}

export function pinFor({ title, versions }: RuntimeType, version: string, arch: string): Pin {
  const pin = versions[version]?.[arch];
  if (pin) return { release: version, ...pin };
  const known = Object.keys(versions).filter((each) => versions[each]?.[arch]);
  throw notPinned(`${title} ${version} is not pinned for ${arch}`, known);
}

const notPinned = (what: string, known: string[]): Fault =>
  new Fault("bad-input", what, {
    why: known.length > 0 ? `there are ${known.join(", ")}` : "none is, for this architecture",
    data: { versions: known },
  });

/** The path of `file`, or of a copy from the registry. Throws if the bytes are not the pinned ones, and keeps none. */
export async function packageFor(
  session: Session,
  name: string,
  type: RuntimeType,
  pin: Pin,
  file: string | undefined,
): Promise<string> {
  if (file !== undefined) {
    await mustHaveBytes(file, type, pin, file);
    return file;
  }
  const directory = openSubdirectory(session.configDir, "cache");
  const kept = join(directory, `${name}-${pin.version}.tgz`);
  if ((await integrityOf(kept).catch(() => undefined)) === pin.integrity) return kept;
  const spec = `${type.package}@${pin.version}`;
  const packed = await mkdtemp(join(directory, `${name}-`));
  try {
    await pack(session, name, spec, packed);
    const [found = ""] = await readdir(packed);
    await mustHaveBytes(join(packed, found), type, pin, spec);
    await rename(join(packed, found), kept);
    return kept;
  } finally {
    await rm(packed, { recursive: true, force: true });
  }
}

async function integrityOf(path: string): Promise<string> {
  const hash = createHash("sha512");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return `sha512-${hash.digest("base64")}`;
}

async function mustHaveBytes(path: string, { title }: RuntimeType, pin: Pin, from: string): Promise<void> {
  const seen = await integrityOf(path).catch((error: NodeJS.ErrnoException) => {
    throw new Fault("not-found", `${from} cannot be read`, { why: error.code ?? error.message });
  });
  if (seen === pin.integrity) return;
  throw new Fault("integrity", `${from} is not the ${title} that was pinned`, {
    why: [`pinned: ${pin.integrity}`, `seen:   ${seen}`],
    data: { expected: pin.integrity, seen },
  });
}

/** Uses npm on this machine, with its registry. Nothing of the package is run. */
async function pack({ signal, env }: Session, name: string, spec: string, directory: string): Promise<void> {
  const words = ["pack", spec, "--pack-destination", directory, "--silent", "--ignore-scripts"];
  const child = spawn("npm", words, { stdio: ["ignore", "ignore", "pipe"], env, signal, cwd: directory });
  const complaint = tailOf(child.stderr);
  const trouble = await once(child, "close").then(
    ([code]) => (code === 0 ? undefined : lastLines(complaint(), 1, `it ended with ${code}`)[0]),
    ({ code, message }: NodeJS.ErrnoException) => (code === "ENOENT" ? "there is no npm on this machine" : message),
  );
  if (trouble === undefined) return;
  signal.throwIfAborted();
  throw new Fault("local-setup", `npm could not fetch ${spec}`, {
    why: trouble,
    next: `npm pack ${spec}   # on a machine with access; then again with --${name}-file FILE`,
  });
}
