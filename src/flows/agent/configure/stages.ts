import type { Check } from "../../../agents/check.js";
import type { Manifest, StageName } from "../../../agents/manifest/manifest.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { isProven, type Proof } from "../../../agents/probe/proof/proof.js";
import type { AgentRecord, OnboardingState } from "../../../state/agent.js";
import { defined } from "../../../text/defined.js";
import { isBefore } from "../agent-record.js";
import { answersGiven, type Changes } from "./changes.js";

export interface StageResult {
  name: StageName;
  result: "complete" | "skipped" | "failed" | "open";
  reason: string;
}

/** The stages to run: the requested one, or those that are open or have new answers. */
export function stagesTo(
  { stages }: Manifest,
  { onboarding, provider }: AgentRecord,
  changes: Changes,
  stage: StageName | undefined,
): Record<"providers" | "identity" | "channels", boolean> {
  const given = answersGiven(changes);
  const isAsked = (name: "providers" | "identity" | "channels", must = false) => {
    const isSkipped = stages.find((each) => each.name === name)?.skipped !== undefined;
    return !isSkipped && (stage === name || given[name] || (stage === undefined && !onboarding.stages[name]) || must);
  };
  return {
    providers: isAsked("providers", provider === undefined),
    identity: isAsked("identity"),
    channels: isAsked("channels"),
  };
}

/** Moves the record to its first open stage, and marks stages that the type skips. */
export function withStages(record: AgentRecord, stages: Manifest["stages"], now: Date): AgentRecord {
  const done = { ...record.onboarding.stages };
  for (const { name, skipped } of stages) {
    if (skipped !== undefined) done[name] ??= { result: "skipped", at: now.toISOString() };
  }
  const open: OnboardingState = stages.find(({ name }) => name !== "validate" && !done[name])?.name ?? "validate";
  const { state } = record.onboarding;
  return { ...record, onboarding: { state: isBefore(state, open) ? open : state, stages: done } };
}

export function withProvider(
  record: AgentRecord,
  { provider, model, fallbacks, auxiliary }: AgentRecord,
  now: Date,
): AgentRecord {
  const { validate: _, ...before } = record.onboarding.stages;
  const stages = { ...before, providers: { result: "complete" as const, at: now.toISOString() } };
  const { state } = record.onboarding;
  const next = state === "ready" ? "validate" : state === "providers" ? "identity" : state;
  return defined({ ...record, provider, model, fallbacks, auxiliary, onboarding: { state: next, stages } });
}

interface Outcome {
  was: AgentRecord;
  tests: Record<string, Check>;
  proofs: Proof[];
  dryRun: boolean;
}

export function stageResults({ manifest, ref }: ResolvedAgent, record: AgentRecord, outcome: Outcome): StageResult[] {
  return manifest.stages.map(({ name, skipped }): StageResult => {
    if (skipped !== undefined) return { name, result: "skipped", reason: skipped };
    if (name === "validate") return { name, ...validateResult(record, outcome) };
    if (!record.onboarding.stages[name]) {
      return { name, result: "open", reason: `clm agent configure ${ref} completes it` };
    }
    const result = outcome.dryRun && !outcome.was.onboarding.stages[name] ? "open" : "complete";
    return { name, result, reason: stageTexts[name](record, outcome) };
  });
}

const stageTexts = {
  providers: providerText,
  identity: ({ settings = {} }: AgentRecord) => Object.keys(settings).join(", "),
  channels: channelText,
};

function validateResult({ onboarding }: AgentRecord, { proofs, dryRun }: Outcome): Omit<StageResult, "name"> {
  if (proofs.length === 0) return { result: "open", reason: dryRun ? "a dry run proves nothing" : "not validated" };
  const failed = proofs.filter(({ result }) => result === "fail");
  if (!isProven(proofs)) return { result: "failed", reason: failed.map(({ id }) => id).join(", ") };
  // Only a provider change resets proofs that have just passed.
  if (onboarding.state === "validate" && !dryRun) {
    return { result: "open", reason: "a provider was changed meanwhile; the proofs are for its old settings" };
  }
  return { result: "complete", reason: `${proofs.filter(({ result }) => result !== "skipped").length} proofs` };
}

function providerText({ provider, model, fallbacks = [], auxiliary = {} }: AgentRecord, { tests }: Outcome): string {
  const others = [...fallbacks.map((each) => `fallback ${each.provider}`), ...Object.keys(auxiliary)];
  const text = [`${provider}${model ? ` with ${model}` : ""}`, ...others].join(", ");
  const test = provider === undefined ? undefined : tests[`provider.${provider}`];
  return test ? `${text}: ${test.reason}` : text;
}

function channelText({ channels = {}, mcp = {} }: AgentRecord, { tests }: Outcome): string {
  const names = Object.keys(channels).map((name) => {
    const test = tests[`channel.${name}`];
    return test ? `${name} (${test.reason})` : name;
  });
  return ["api_server", ...names, ...Object.keys(mcp).map((name) => `MCP ${name}`)].join(", ");
}
