import type { Manifest } from "../../../agents/manifest/manifest.js";
import { useOf } from "../../../agents/manifest/secret-names.js";
import { inRange } from "../../../agents/manifest/versions.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import { own } from "../../../text/own-property.js";
import { isRecord } from "../../../text/record.js";
import { answersFrom } from "./answers.js";
import { type Conversion, converted, type ImportRow, type Outcome, skipped, without } from "./conversion.js";
import type { OldAgent } from "./shapes.js";

/** Secrets are by their new name. */
interface Attachments {
  channels: Record<string, Record<string, string>>;
  channelSecrets: Record<string, SecretEntry>;
  mcp: Record<string, { fields: Record<string, string> }>;
  integrationSecrets: Record<string, SecretEntry>;
}

/** `ref` names the agent in the rows. */
export function attachmentsOf(conversion: Conversion, agent: OldAgent, ref: string): Attachments {
  const { old, fleet } = conversion;
  const attachments: Attachments = { channels: {}, channelSecrets: {}, mcp: {}, integrationSecrets: {} };
  const push = (what: ImportRow["what"], from: string, outcome: Outcome | undefined) => {
    if (outcome) fleet.rows.push({ what, from, ...outcome, ...(outcome.to && { to: `${ref} ${outcome.to}` }) });
  };
  const missing = (found: { flaw: string } | undefined) => skipped(found ? found.flaw : "it does not exist");

  // Since Clawrium 26.6 channels are entries of their own, attached to agents by name.
  const channels: OldChannelUse[] = [];
  for (const { name } of agent.channels) {
    const found = old.channels.find((each) => each.name === name);
    if (found && "entry" in found) channels.push({ from: name, ...found.entry, key: `channel:${name}` });
    else push("channel", name, missing(found));
  }
  // Before, they were part of the agent, and so were their secrets.
  for (const [type, config] of Object.entries(agent.config?.channels ?? {})) {
    if (!isRecord(config)) continue;
    const { enabled, ...rest } = config;
    if (enabled !== false) channels.push({ from: type, type, config: rest });
  }
  for (const channel of channels) {
    push("channel", channel.from, convertChannel(conversion, agent.version, channel, attachments));
  }

  // Of several GitHub accounts the alphabetically last one is the default in Clawrium.
  for (const { name } of agent.integrations.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const found = old.integrations.find((each) => each.name === name);
    if (!found || "flaw" in found) push("integration", name, missing(found));
    else {
      const { type } = found.entry;
      push("integration", `${name} (${type})`, convertIntegration(conversion, { name, type }, attachments));
    }
  }
  return attachments;
}

interface OldChannelUse {
  from: string;
  type: string;
  config: Record<string, unknown>;
  /** The key of its secrets, when it has some of its own. */
  key?: string;
}

function convertChannel(
  { old, manifest, fleet }: Conversion,
  version: string,
  { type, config, key }: OldChannelUse,
  { channels, channelSecrets }: Attachments,
): Outcome | undefined {
  const known = own(manifest.channels, type);
  // Clawrium counts the terminal as a channel.
  if (type === "cli") return undefined;
  if (!known || !inRange(version, known.when)) return skipped(`${manifest.title} has no channel ${type}`);
  if (own(channels, type)) return key ? skipped(`the agent has another ${type} channel`) : undefined;
  const { fields, dropped } = answersFrom(known.fields, config);
  channels[type] = fields;
  for (const [name, entry] of Object.entries((key && own(old.secrets, key)) || {})) {
    const secret = [`${type}_${name}`.toUpperCase(), name].find((word) => known.fields.some((f) => f.secret === word));
    if (secret) channelSecrets[secret] = entry;
    else dropped.push(name);
  }
  if (key) fleet.gone.push(key);
  return converted(type, without(dropped));
}

/** Credentials of Clawrium's that are fields of an MCP server. Its token has the same name here. */
const serverFields: Record<string, Record<string, string>> = {
  atlassian: {
    ATLASSIAN_URL: "url",
    ATLASSIAN_EMAIL: "username",
    JIRA_PROJECTS_FILTER: "jira_projects",
    CONFLUENCE_SPACES_FILTER: "confluence_spaces",
  },
};

/** Credentials that Clawrium writes to `.env`, under the same or another name. */
const variablesOf: Record<string, Record<string, string>> = {
  github: { GITHUB_TOKEN: "GITHUB_TOKEN" },
  gitlab: { GITLAB_TOKEN: "GITLAB_TOKEN", GITLAB_URL: "GITLAB_URL" },
  linear: { LINEAR_API_KEY: "LINEAR_API_KEY" },
  notion: { NOTION_API_KEY: "NOTION_API_KEY" },
  brave: { BRAVE_API_KEY: "BRAVE_SEARCH_API_KEY" },
};

function convertIntegration(
  { old, manifest, fleet }: Conversion,
  integration: { name: string; type: string },
  attachments: Attachments,
): Outcome {
  const key = `integration:${integration.name}`;
  const bucket = own(old.secrets, key) ?? {};
  const outcome = own(serverFields, integration.type)
    ? asServer(manifest, integration.type, bucket, attachments)
    : asVariables(manifest, integration, bucket, attachments);
  if (outcome.to) fleet.gone.push(key);
  return outcome;
}

function asServer(
  manifest: Manifest,
  type: string,
  bucket: Record<string, SecretEntry>,
  { mcp, integrationSecrets }: Attachments,
): Outcome {
  const server = own(manifest.mcp, type);
  if (!server) return skipped(`there is no MCP server ${type}`);
  if (own(mcp, type)) return skipped(`the agent has another ${type}`);
  const given = Object.entries(own(serverFields, type) ?? {}).flatMap(([credential, field]) => {
    const entry = own(bucket, credential);
    return entry ? [[field, entry.value.replace(/\/+$/, "")]] : [];
  });
  const { fields, dropped } = answersFrom(server.fields, Object.fromEntries(given));
  for (const { secret } of server.fields) {
    const entry = secret && own(bucket, secret);
    if (secret && entry) integrationSecrets[secret] = entry;
  }
  mcp[type] = { fields };
  return converted(`mcp ${type}`, without(dropped));
}

function asVariables(
  manifest: Manifest,
  { name, type }: { name: string; type: string },
  bucket: Record<string, SecretEntry>,
  { integrationSecrets }: Attachments,
): Outcome {
  const variables = own(variablesOf, type);
  if (!variables) return skipped(`clm does not know ${type}`);
  const found = Object.entries(variables).flatMap(([credential, variable]) => {
    const entry = own(bucket, credential);
    if (!entry || useOf(manifest, variable).kind === "own") return [];
    integrationSecrets[variable] = entry;
    if (type === "github") integrationSecrets[`${variable}_${name.toUpperCase().replaceAll("-", "_")}`] = entry;
    return [variable];
  });
  return found.length > 0 ? { to: found.join(", ") } : skipped("it has no credentials");
}
