import { createHash } from "node:crypto";
import { Secret } from "../../secret.js";
import { type AgentRecord, ownedNames } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import type { Manifest } from "../manifest/manifest.js";
import type { ManagedFile } from "./managed-file.js";
import { type Answers, type ResolvedAgent, resolvedAgent } from "./resolved-agent.js";

export interface Renderer {
  files(agent: ResolvedAgent, answers: Answers): ManagedFile[];
}

/** Computed once per command: diff compares it, configure and sync write it. */
export interface DesiredState {
  record: AgentRecord;
  resolved: ResolvedAgent;
  answers: Answers;
  files: ManagedFile[];
  /** By file, the names that clm owned in it before. */
  owned: Record<string, string[]>;
  /** Digest of everything configured; a proof is valid only for the digest it was made with. */
  digest: string;
}

export function desiredState(
  renderer: Renderer,
  manifest: Manifest,
  agent: Agent,
  record: AgentRecord,
  answers: Answers,
): DesiredState {
  const resolved = resolvedAgent(manifest, { ...agent, record });
  const files = renderer.files(resolved, answers);
  return {
    record,
    resolved,
    answers,
    files,
    owned: ownedNames(agent.record),
    digest: digestOf(resolved, files),
  };
}

function digestOf({ version, port, relaxed, settings }: ResolvedAgent, files: readonly ManagedFile[]): string {
  const contents = [...files].sort((a, b) => (a.id < b.id ? -1 : 1)).flatMap(contentOf);
  return createHash("sha256")
    .update(JSON.stringify([version, port, relaxed, ...contents, ...Object.entries(settings).sort()]))
    .digest("hex");
}

function contentOf({ path, mode, content }: ManagedFile): unknown[] {
  const plain = (value: string | Buffer | Secret) =>
    value instanceof Secret ? value.reveal() : Buffer.isBuffer(value) ? value.toString("base64") : value;
  switch (content.merge) {
    case "whole":
      return [path, mode, plain(content.text)];
    case "variables":
      return [[...content.entries].map(([name, value]) => [name, plain(value)])];
    case "yaml":
      return [content.tree];
    case "derived":
      return [];
  }
}
