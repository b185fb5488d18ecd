import { createHash } from "node:crypto";
import { parse } from "yaml";
import type { Report } from "../../remote/operations/converge.js";
import type { Secret } from "../../secret.js";
import { isRecord } from "../../text/record.js";
import { leavesOf } from "../files/tree.js";
import type { CodexFiles } from "../hermes/codex/files.js";
import type { Observation } from "../probe/proof/observation.js";
import { type Change, changesOf } from "./change.js";
import type { Rendering, ResolvedAgent } from "./resolved-agent.js";

export type { Change } from "./change.js";

export interface Sides {
  resolved: ResolvedAgent;
  rendering: Rendering;
  env: Secret;
  config: string;
  /** Codex' own files, when it runs the agent's turns. */
  codex?: CodexFiles;
  seen: Observation;
  /** With which the host made digests of the lines of `.env`; empty when it made none. */
  salt: string;
}

/** Changes as a person reads them: of `.env` and config.yaml the names, of the rest what differed. */
export function changesIn(sides: Sides, report: Report): Change[] {
  const { env, config } = sides.resolved.paths;
  return changesOf(report).map(({ what, differences }) => {
    const names = what.endsWith(` ${env}`) ? variablesIn(sides) : what.endsWith(` ${config}`) ? pathsIn(sides) : [];
    const rest = names.length > 0 ? differences.filter((each) => each !== "content") : differences;
    return { what, differences: [...rest, ...names] };
  });
}

function variablesIn({ rendering, env, seen, salt }: Sides): string[] {
  const lines = env.reveal().split("\n");
  const lineOf = new Map(lines.map((line) => [line.split("=")[0] ?? "", line]));
  const isOther = (name: string): boolean => {
    const digest = seen.variables.get(name);
    return Boolean(salt && digest) && digest !== lineDigest(salt, lineOf.get(name) ?? "");
  };
  const names = [...rendering.env.keys()];
  return [
    ...names.filter((name) => !seen.variables.has(name)).map((name) => `+ ${name}`),
    ...names.filter(isOther).map((name) => `~ ${name}`),
    ...[...seen.variables.keys()].filter((name) => !rendering.env.has(name)).map((name) => `- ${name}`),
  ];
}

/** As the host makes it of a line of `.env`. */
export const lineDigest = (salt: string, line: string): string =>
  createHash("sha256").update(`${salt}${line}\n`).digest("hex");

function pathsIn({ seen, config }: Sides): string[] {
  const [before, after] = [leavesIn(seen.config), leavesIn(config)];
  const isOther = ([path, value]: [string, string]) => before.has(path) && before.get(path) !== value;
  return [
    ...[...after.keys()].filter((path) => !before.has(path)).map((path) => `+ ${path}`),
    ...[...after].filter(isOther).map(([path]) => `~ ${path}`),
    ...[...before.keys()].filter((path) => !after.has(path)).map((path) => `- ${path}`),
  ];
}

export function leavesIn(text: string): Map<string, string> {
  // What the library would say about an odd file, it says with a piece of it.
  const tree: unknown = parse(text, { uniqueKeys: false, logLevel: "silent" });
  return new Map(isRecord(tree) ? leavesOf(tree).map(([path, value]) => [path, JSON.stringify(value)]) : []);
}
