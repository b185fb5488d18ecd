import type { AgentRecord, OnboardingState } from "../../../state/agent.js";
import type { OldAgent } from "./shapes.js";

const order: OnboardingState[] = ["providers", "identity", "channels", "validate"];

/** How far it was set up. Never `ready`: Clawrium's ready was never taken back, and what is on the host was not seen. */
export function onboardingFrom({ onboarding }: OldAgent, hasProvider: boolean): AgentRecord["onboarding"] {
  const said = onboarding?.state ?? "pending";
  const reached = said === "ready" ? "validate" : (order.find((state) => state === said) ?? "providers");
  const state = hasProvider ? reached : "providers";
  const before = order.slice(0, order.indexOf(state));
  const stages = before.flatMap((name) => {
    const { status, completed_at } = onboarding?.stages[name] ?? {};
    const result = status === "complete" || status === "skipped" ? status : undefined;
    return result ? [[name, { result, at: completed_at ?? "" }]] : [];
  });
  return { state, stages: Object.fromEntries(stages) };
}
