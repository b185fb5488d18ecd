import type { HandoffStore } from "../../agents/handoff/store.js";
import { loadModels } from "../../agents/manifest/models.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { capability } from "../../agents/type.js";
import { Fault } from "../../errors.js";
import { ask } from "../../remote/http.js";
import { type Agent, agentId } from "../../state/agents.js";
import { modelOf } from "../../state/providers.js";
import type { AgentTarget } from "../agent/target.js";
import { verifyPortOwner } from "../agent/verify-port-owner.js";
import { bodyText } from "../chat/answering.js";
import type { Session } from "../session.js";
import { changeSessions } from "./change-sessions.js";

export interface HandoffTarget extends AgentTarget {
  store: HandoffStore;
  model: string | undefined;
  /** Tokens of its model's context window, if known. */
  context: number | undefined;
}

export async function mustTakeOver(
  session: Session,
  agent: Agent,
  context: number | undefined,
): Promise<HandoffTarget> {
  mustBeValidated(agent);
  const target = await mustTakeItsKey(session, agent);
  const store = await capability(target.resolved.manifest, "handoff");
  const { missing = [] } = await changeSessions(session, target, { verb: "check-columns", id: "" });
  if (missing.length > 0) {
    throw new Fault("unsupported", `clm cannot write to the session database of ${agent.name}`, {
      why: `it has no ${missing.join(", ")}`,
      next: `clm agent show ${agent.ref}`,
    });
  }
  const providers = session.providers.read();
  const model = modelOf(providers, agent.record);
  const type = providers.providers[agent.record.provider ?? ""]?.type;
  const known = type && model ? (await loadModels(session.configDir)).of(type, model)?.context : undefined;
  return { ...target, store, model, context: context ?? known };
}

function mustBeValidated(agent: Agent): void {
  const { onboarding, rendered, proven } = agent.record;
  if (onboarding.state === "ready" && proven && proven.digest === rendered?.digest) return;
  const isReady = onboarding.state === "ready";
  throw new Fault("not-ready", `${agentId(agent)} cannot take a conversation over yet`, {
    why: isReady ? "it was not validated as it is now" : `its onboarding is not complete (state=${onboarding.state})`,
    next: `clm agent configure ${agent.ref}${isReady ? " --stage validate" : ""}`,
    data: { state: onboarding.state },
  });
}

async function mustTakeItsKey(session: Session, agent: Agent): Promise<AgentTarget> {
  const { api, resolved, key } = await verifyPortOwner(session, agent);
  const { status, body } = await ask(api, {
    method: "GET",
    path: resolved.manifest.api.models ?? "/",
    signal: session.signal,
    headers: { Authorization: `Bearer ${key.reveal()}` },
  });
  const messages = await bodyText(body);
  if (status === 200) return { agent, resolved };
  throw new Fault("check-failed", `${agent.name} does not take its own key`, {
    why: `HTTP ${status}: ${brief(session.ui.redact(messages), 200)}`,
    next: `clm agent doctor ${agent.ref}`,
    data: { status },
  });
}
