import builtInTypes from "clm:agent-types";
import { Fault } from "../../errors.js";
import { didYouMean } from "../../text/nearest.js";
import { own } from "../../text/own-property.js";
import { cachedTypes } from "./cache.js";
import type { LoadedType } from "./checked-types.js";
import { builtIn, type ManifestText, overlaysIn } from "./files.js";
import type { Manifest, Release } from "./manifest.js";
import { noCapability } from "./no-capability.js";
import { inRange } from "./versions.js";

const ours: ManifestText[] = Object.values(builtInTypes).map(({ manifest }) => ({ file: builtIn, text: manifest }));

/** Every agent type: the built-in ones, with the files of `<configDir>/manifests` merged over them in name order. */
export async function loadTypes(configDir: string): Promise<LoadedType[]> {
  const texts = [...ours, ...overlaysIn(configDir)];
  // Loading the YAML parser and the schema takes a tenth of a second, and is needed only after a change.
  return cachedTypes(configDir, texts, async () => (await import("./checked-types.js")).checkedTypes(texts));
}

export const loadManifests = async (configDir: string): Promise<Manifest[]> =>
  (await loadTypes(configDir)).map(({ manifest }) => manifest);

export async function loadType(configDir: string, type: string): Promise<LoadedType> {
  const types = await loadTypes(configDir);
  const found = types.find(({ manifest }) => manifest.type === type);
  if (found) return found;
  const known = types.map(({ manifest }) => manifest.type);
  throw unknown(`no agent type is called '${type}'`, type, known);
}

export function releaseOf(manifest: Manifest, version: string): Release {
  const found = own(manifest.versions, version);
  if (found) return found;
  throw unknown(`${manifest.type} ${version} is not pinned`, version, Object.keys(manifest.versions));
}

function unknown(what: string, word: string, known: string[]): Fault {
  const hint = didYouMean(word, known, `there are ${known.join(", ")}`);
  return new Fault("not-found", what, { ...hint, next: "clm registry list" });
}

/** The version to install when none is named. A label of the host may select another default. */
export function defaultVersion(manifest: Manifest, labels: Record<string, string>): string {
  const label = Object.keys(manifest.default_by_label).find((each) => Object.hasOwn(labels, each));
  return (label !== undefined && manifest.default_by_label[label]) || manifest.default;
}

export const versionsIn = (manifest: Manifest, range: string): string[] =>
  Object.keys(manifest.versions).filter((version) => inRange(version, range));

export function chatSettings(manifest: Manifest): NonNullable<Manifest["api"]["chat"]> {
  if (manifest.api.chat) return manifest.api.chat;
  throw noCapability(manifest, "chat");
}

/** Whether agents of the type are served by a model provider. */
export const needsProvider = ({ stages }: Manifest): boolean =>
  stages.some(({ name, skipped }) => name === "providers" && skipped === undefined);
