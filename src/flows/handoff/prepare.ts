import { createHash } from "node:crypto";
import { applyBoundary, type Boundary } from "../../agents/handoff/boundary.js";
import type { Fit } from "../../agents/handoff/fit.js";
import { describe, type FitResult, fitTo, type HandoffPlan } from "../../agents/handoff/plan.js";
import { redacting } from "../../agents/handoff/redact.js";
import { digestOf, type TranscriptMessage } from "../../agents/handoff/transcript.js";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { agentId } from "../../state/agents.js";
import type { Session } from "../session.js";
import type { SourceConversation } from "./source.js";
import { piecesFor } from "./summary.js";
import type { HandoffTarget } from "./target.js";

export interface HandoffOptions {
  /** The id of the session or a prefix of it; by default the one used last. */
  session?: string | undefined;
  /** For a conversation that does not fit; refused by default. */
  fit?: Fit | undefined;
  /** Tokens of the context window of the target's model. */
  context?: number | undefined;
  noTools: boolean;
  redact: boolean;
  onlyLast?: number | undefined;
  denyTool: string[];
  close: boolean;
  /** A gateway key, by its name or id. */
  as?: string | undefined;
}

export interface PreparedHandoff extends FitResult {
  plan: HandoffPlan;
  title: string;
  /** All that may be handed over, before anything is left out for its size. */
  may: TranscriptMessage[];
}

export function prepare(
  { ui }: Pick<Session, "ui">,
  { agent, chat, messages, earlier }: SourceConversation,
  target: HandoffTarget,
  options: HandoffOptions,
): PreparedHandoff {
  const boundary: Boundary = {
    noTools: options.noTools,
    onlyLast: options.onlyLast,
    deny: patternsIn(options.denyTool),
    ...(options.redact && { redact: redacting((text) => ui.redact(text)) }),
  };
  const conversation = { messages, earlier, title: chat.title ?? `from ${agent.name}` };
  const { messages: may, title, taken } = applyBoundary(boundary, conversation);
  const fit = fitTo(may, target.context, options.fit ?? "refuse");
  const plan: HandoffPlan = {
    from: { agent: agentId(agent), session: chat.id },
    to: { agent: agentId(target.agent), model: target.model ?? null },
    title,
    ...describe(may),
    taken,
    fit: fit.fit,
  };
  return { ...fit, plan, title, may };
}

/** `--deny-tool a,b --deny-tool c`. An empty list is a mistake, and must not hand everything over. */
export function patternsIn(words: readonly string[]): string[] {
  const patterns = words.flatMap((word) => word.split(",").map((each) => each.trim())).filter((each) => each !== "");
  if (words.length === 0 || patterns.length > 0) return patterns;
  throw new Fault("bad-input", "--deny-tool names no tool", { next: "clm handoff --help" });
}

export function mustMove(
  session: Pick<Session, "ui" | "argv">,
  { plan, may, messages, summarise }: PreparedHandoff,
  source: SourceConversation,
  target: HandoffTarget,
  options: HandoffOptions,
): void {
  const { agent, model } = target;
  if (may.length === 0) {
    throw new Fault("bad-input", "nothing of this conversation would be handed over", {
      why: plan.taken.messages > 0 ? `the boundary excludes all ${plan.taken.messages} messages` : "it is empty",
      next: `clm agent sessions show ${source.agent.ref} ${plan.from.session}`,
    });
  }
  if (plan.fit.context === null) {
    if (options.fit !== undefined) {
      throw new Fault("bad-input", `the context window of the model of ${agent.name} is unknown`, {
        why: `--fit needs the window of ${model ?? "its model"}: set it with --context or in models.yaml`,
        next: again(session, "--context TOKENS"),
      });
    }
    session.ui.warn(
      `the window of ${model ?? "the target's model"} is unknown; assumed to be large enough (set it with --context)`,
    );
  }
  if (!messages) throw tooLarge(session, plan);
  if (summarise) piecesFor(target, summarise);
}

const tooLarge = (session: Pick<Session, "argv">, { tokens, fit, to }: HandoffPlan): Fault =>
  new Fault("bad-input", `the conversation does not fit the window of ${to.model ?? "the target's model"}`, {
    why: [
      `it has about ${tokens} tokens; ${fit.room} of ${fit.context} are for a transcript`,
      fit.by === "refuse" ? "nothing was changed" : "not even the last turn fits; nothing was changed",
    ],
    next:
      fit.by === "refuse"
        ? ["trim", "summarise"].map((how) => again(session, `--fit ${how}`))
        : again(session, "--no-tools"),
    data: { tokens, ...fit },
  });

export const again = ({ argv }: Pick<Session, "argv">, more: string): string =>
  `clm ${argv.map(quote).join(" ")} ${more}`;

/** The same for the same conversation and options. */
export const askedFor = ({ plan, may }: PreparedHandoff, options: HandoffOptions): string => {
  const { fit, context, close, as } = options;
  const all = { from: plan.from, to: plan.to.agent, title: plan.title, fit, context, close, as, digest: digestOf(may) };
  return createHash("sha256").update(JSON.stringify(all)).digest("hex");
};
