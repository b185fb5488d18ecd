import builtInTypes from "clm:agent-types";
import { parseDocument } from "yaml";
import { Fault } from "../../errors.js";
import { isRecord, mergeDeep } from "../../text/record.js";
import { builtIn, type ManifestText } from "./files.js";
import { type Flaw, flawsIn } from "./flaws.js";
import { type Manifest, manifestSchema } from "./manifest.js";

export interface LoadedType {
  manifest: Manifest;
  /** By version, where it is pinned: `built in`, or a file of the user's. */
  sources: Record<string, string>;
}

type Raw = Record<string, unknown>;

interface Draft extends LoadedType {
  /** As written, for the next file to be merged over. */
  raw: Raw;
}

/** Built-in manifests, by their text: they are checked once per process. */
const builtInDrafts = new Map<string, Draft>();

/** Checks the types of all files, each merged over earlier files of the same type. */
export function checkedTypes(texts: ManifestText[]): LoadedType[] {
  const types = new Map<string, Draft>();
  for (const text of texts) {
    const draft = (text.file === builtIn && builtInDrafts.get(text.text)) || mergedOver(types, text);
    if (text.file === builtIn) builtInDrafts.set(text.text, draft);
    types.set(draft.manifest.type, draft);
  }
  return [...types.values()].map(({ manifest, sources }) => ({ manifest, sources }));
}

function mergedOver(types: ReadonlyMap<string, Draft>, text: ManifestText): Draft {
  const layer = parsed(text);
  const below = types.get(String(layer.type));
  const raw = below ? mergeDeep(below.raw, layer) : layer;
  // The files below were valid, so any flaw comes from this one.
  const manifest = checkedManifest(raw, text.file, below !== undefined);
  const pinned = Object.keys((layer.versions as object | undefined) ?? {});
  return {
    raw,
    manifest,
    sources: { ...below?.sources, ...Object.fromEntries(pinned.map((version) => [version, text.file])) },
  };
}

function parsed({ file, text }: ManifestText): Raw {
  const raw = asJson(text) ?? asYaml(file, text);
  if (!isRecord(raw))
    throw flawed(file, [{ path: "type", reason: "is missing: the file should be a map with `type:`" }]);
  if (typeof raw.type !== "string")
    throw flawed(file, [{ path: "type", reason: "is missing: it should name the agent type" }]);
  return raw;
}

/** The built-in manifests are JSON: YAML of their size takes a tenth of a second to parse. */
function asJson(text: string): unknown {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asYaml(file: string, text: string): unknown {
  const document = parseDocument(text, { merge: true });
  const [error] = document.errors;
  if (error) throw flawed(file, [{ path: `line ${error.linePos?.[0].line ?? 1}`, reason: firstLine(error.message) }]);
  return document.toJS();
}

const firstLine = (text: string): string => (text.split("\n", 1)[0] ?? "").replace(/ at line \d+.*$/, "");

function checkedManifest(raw: Raw, file: string, known: boolean): Manifest {
  const { success, data, error } = manifestSchema.safeParse(raw);
  if (!success) {
    const flaws = error.issues.map(({ path, message }) => ({ path: path.join(".") || "type", reason: message }));
    throw flawed(file, flaws, known ? [] : [`'${String(raw.type)}' is a new type, so the file must be complete`]);
  }
  // A test checks the built-in ones.
  const flaws = file === builtIn ? [] : [...flawsIn(data), ...likeFlaws(data)];
  if (flaws.length > 0) throw flawed(file, flaws);
  return { ...data, managed: data.managed.flatMap((path) => writtenOut(path, data)) };
}

/** A custom type has no code: it names the built-in type whose code it uses. */
function likeFlaws({ type, like = type }: Manifest): Flaw[] {
  const known = Object.keys(builtInTypes);
  if (known.includes(like)) return [];
  return [{ path: "like", reason: `should be the built-in type it works like: ${known.join(", ")}` }];
}

const writtenOut = (path: string, { auxiliary }: Manifest): string[] =>
  path.includes("*") ? auxiliary.map(({ name }) => path.replace("*", name)) : [path];

function flawed(file: string, flaws: Flaw[], more: string[] = []): Fault {
  const [first] = flaws;
  return new Fault("bad-input", `the manifest ${file} is not valid`, {
    why: [...flaws.slice(0, 5).map(({ path, reason }) => `${path}: ${reason}`), ...more],
    data: { file, path: first?.path, reason: first?.reason, flaws },
  });
}
