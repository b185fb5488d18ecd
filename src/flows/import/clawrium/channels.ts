import type { Manifest } from "../../../agents/manifest/manifest.js";
import { inRange } from "../../../agents/manifest/versions.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import { answersFrom } from "./answers.js";
import type { OldFleet } from "./read.js";
import type { OldAgent } from "./shapes.js";
import { own, type Row } from "./taken.js";

export interface TakenChannels {
  /** By type, as the agent's record has it. */
  channels: Record<string, Record<string, string>>;
  /** By the name they get among the agent's secrets. */
  secrets: Record<string, SecretEntry>;
  gone: string[];
  rows: Row[];
}

interface OldWay {
  from: string;
  type: string;
  config: Record<string, unknown>;
  /** The key of its secrets, when it has some of its own. */
  key?: string;
}

/** The ways in which people talk to an agent. `title` is the agent, for the rows. */
export function takeChannels(old: OldFleet, manifest: Manifest, agent: OldAgent, title: string): TakenChannels {
  const taken: TakenChannels = { channels: {}, secrets: {}, gone: [], rows: [] };
  for (const way of [...attached(old, agent, taken.rows), ...ofTheWizard(agent)]) {
    const row = takeChannel(old, manifest, agent, way, taken);
    if (row) taken.rows.push({ what: "channel", from: way.from, ...row, ...(row.to && { to: `${title} ${row.to}` }) });
  }
  return taken;
}

/** Since Clawrium 26.6 channels are entries of their own, attached to agents by name. */
function attached(old: OldFleet, agent: OldAgent, rows: Row[]): OldWay[] {
  return agent.channels.flatMap(({ name }) => {
    const found = old.channels.find((each) => each.name === name);
    if (found && "entry" in found) return [{ from: name, ...found.entry, key: `channel:${name}` }];
    rows.push({ what: "channel", from: name, remark: `not taken over: ${found ? found.flaw : "it is not there"}` });
    return [];
  });
}

/** Before, they were part of the agent, and so were their secrets. */
function ofTheWizard(agent: OldAgent): OldWay[] {
  return Object.entries(agent.config?.channels ?? {}).flatMap(([type, config]) => {
    if (typeof config !== "object" || config === null || Array.isArray(config)) return [];
    const { enabled, ...rest } = config as Record<string, unknown>;
    return enabled === false ? [] : [{ from: type, type, config: rest }];
  });
}

function takeChannel(
  old: OldFleet,
  manifest: Manifest,
  { version }: OldAgent,
  { type, config, key }: OldWay,
  taken: TakenChannels,
): Pick<Row, "to" | "remark"> | undefined {
  const known = own(manifest.channels, type);
  // The terminal counts as one.
  if (type === "cli") return undefined;
  if (!known || !inRange(version, known.when)) return { remark: `not taken over: Hermes has no channel ${type}` };
  if (own(taken.channels, type)) {
    return key ? { remark: `not taken over: the agent has another ${type} channel` } : undefined;
  }
  const { fields, dropped } = answersFrom(known.fields, config);
  taken.channels[type] = fields;
  for (const [name, kept] of Object.entries((key && own(old.secrets, key)) || {})) {
    const secret = [`${type}_${name}`.toUpperCase(), name].find((word) => known.fields.some((f) => f.secret === word));
    if (secret) taken.secrets[secret] = kept;
    else dropped.push(name);
  }
  if (key) taken.gone.push(key);
  return { to: type, ...(dropped.length > 0 && { remark: `without ${dropped.join(", ")}` }) };
}
