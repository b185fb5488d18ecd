import { quote } from "../../quote.js";
import { absent, type Operation, type UnitOperation } from "../../remote/operations/operation.js";
import type { AgentRecord } from "../../state/agent.js";
import { accountComment } from "./account.js";
import type { DesiredState } from "./desired-state.js";
import { unwantedFiles } from "./managed-file.js";
import { ManualFix } from "./manual-fix.js";
import {
  accountOperations,
  directoryOperations,
  proxyOperations,
  unitOperation,
  userOperations,
} from "./operations.js";
import { fileOperations, type PlannedFile, planFiles } from "./plan-files.js";
import type { ResolvedAgent } from "./resolved-agent.js";

/** The desired unit: running and enabled, stopped and disabled, or unchanged. */
export type ServiceState = "up" | "down" | "as-is";

/** A stopped agent stays down; an agent that is not ready is not started. */
export function recordedServiceState({ down, onboarding }: AgentRecord): ServiceState {
  if (down) return "down";
  return onboarding.state === "ready" ? "up" : "as-is";
}

/** The part of an Observation that a plan needs. */
export interface ObservedHost {
  /** The comment of the agent's account. */
  comment?: string;
  unit: Record<string, string>;
  /** The text of its unit, if requested. */
  service: string;
  systemd: number;
  /** Variables of `.env`, each with the salted digest of its line, if requested. */
  variables: Map<string, string>;
  texts: Record<string, ObservedText>;
}

export interface ObservedText {
  there: boolean;
  /** Missing when the file could not be read as text. */
  text?: string;
}

/** The operations that bring a host to a desired state, and their inputs. */
export interface Plan {
  agent: ResolvedAgent;
  desired: DesiredState;
  observation: ObservedHost;
  /** The salt of the digests in the observation; empty when it has none. */
  salt: string;
  serviceState: ServiceState;
  files: PlannedFile[];
  /** The unit file's text. */
  service: string;
  operations: Operation[];
}

/** Pure. Configure and sync apply the operations, diff and ps check them: what diff prints is what sync would do. */
export function planFor(
  desired: DesiredState,
  observation: ObservedHost,
  { salt, serviceState }: { salt: string; serviceState: ServiceState },
): Plan {
  const { resolved: agent, record, owned } = desired;
  mustBeOurs(agent, observation, record.mark);
  const files = planFiles(agent, desired.files, observation, owned);
  const unit = unitOperation(agent, observation.systemd);
  const unwanted = unwantedFiles(owned, desired.files);
  const service = withoutFiles(inState(unit, observation, serviceState), observation, unwanted);
  const operations = [
    ...userOperations(agent, record.mark),
    ...directoryOperations(agent),
    ...unwanted.map((path) => absent({ path })),
    // Before the unit, which restarts when a file changes.
    ...fileOperations(agent, files, { restart: service.state === "started" || service.state === "restarted" }),
    service,
    ...proxyOperations(agent, observation.systemd),
  ];
  return { agent, desired, observation, salt, serviceState, files, service: String(unit.content ?? ""), operations };
}

/** The operations of install, for an agent that is not configured yet: clm does not own its files' contents. */
export function installedOperations(
  agent: ResolvedAgent,
  observation: ObservedHost,
  mark: string | undefined,
): Operation[] {
  mustBeOurs(agent, observation, mark);
  const { enabled: _, ...unit } = unitOperation(agent, observation.systemd);
  const proxy = proxyOperations(agent, observation.systemd);
  return mark === undefined ? proxy : [...accountOperations(agent, mark), unit, ...proxy];
}

/** An account without our comment is not clm's: neither it nor its home is touched. */
export function mustBeOurs({ user, host }: ResolvedAgent, { comment }: ObservedHost, mark: string | undefined): void {
  if (mark === undefined || comment === undefined || comment === accountComment(mark)) return;
  throw new ManualFix(`user ${user}`, "conflict", `the account ${user} on ${host} is not the one clm made`, {
    why: `its comment should be '${accountComment(mark)}'`,
    next: `clm host exec ${host} --sudo -- usermod -c ${quote(accountComment(mark))} ${user}`,
  });
}

function inState(
  unit: UnitOperation,
  { unit: { ActiveState = "" } }: ObservedHost,
  serviceState: ServiceState,
): UnitOperation {
  const { enabled: _, ...file } = unit;
  switch (serviceState) {
    case "up":
      return { ...file, enabled: true, state: "started" };
    case "down":
      return { ...file, enabled: false, state: "stopped" };
    case "as-is":
      // A running agent must not keep settings that are no longer in its files.
      return ["active", "activating", "reloading"].includes(ActiveState) ? { ...file, state: "started" } : file;
  }
}

/** A running program may have read a removed file: restart it, to prove that it starts without it. */
const withoutFiles = (service: UnitOperation, { unit }: ObservedHost, unwanted: string[]): UnitOperation =>
  service.state === "started" && unit.ActiveState === "active" && unwanted.length > 0
    ? { ...service, state: "restarted" }
    : service;
