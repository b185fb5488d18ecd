import { useOf } from "../../../agents/manifest/secret-names.js";
import { inRange } from "../../../agents/manifest/versions.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import { own } from "../../../text/own-property.js";
import { isRecord } from "../../../text/record.js";
import { addRow, answersFrom, type Conversion, type Outcome, Skipped, without } from "./conversion.js";
import { entryOf, labelOf, type OldItem } from "./read-fleet.js";
import type { OldAgent, OldEntry } from "./shapes.js";

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
  const ofAgent = ({ to, remarks }: Outcome): Outcome => ({ to: `${ref} ${to}`, remarks });
  const called = (items: OldItem[], name: string): OldItem =>
    items.find((each) => each.name === name) ?? { name, flaw: "it does not exist" };

  // Since Clawrium 26.6 channels are entries of their own, attached to agents by name.
  const items = agent.channels.map(({ name }) => called(old.channels, name));
  // Those that cannot be converted are listed first.
  for (const item of items.toSorted((a, b) => Number("type" in a) - Number("type" in b))) {
    const { name } = item;
    // Clawrium counts the terminal as a channel.
    if ("type" in item && item.type === "cli") continue;
    addRow(fleet, "channel", name, () => {
      const outcome = convertChannel(conversion, agent.version, entryOf(item), attachments, `channel:${name}`);
      fleet.gone.push(`channel:${name}`);
      return ofAgent(outcome);
    });
  }
  // Before, they were part of the agent, and so were their secrets.
  for (const [type, config] of Object.entries(agent.config?.channels ?? {})) {
    if (!isRecord(config) || type === "cli" || own(attachments.channels, type)) continue;
    const { enabled, ...rest } = config;
    if (enabled === false) continue;
    const entry = { type, config: rest };
    addRow(fleet, "channel", type, () => ofAgent(convertChannel(conversion, agent.version, entry, attachments)));
  }
  // Of several GitHub accounts the alphabetically last one is the default in Clawrium.
  for (const { name } of agent.integrations.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const item = called(old.integrations, name);
    addRow(fleet, "integration", labelOf(item), () => {
      const outcome = convertIntegration(conversion, entryOf(item), attachments);
      fleet.gone.push(`integration:${name}`);
      return ofAgent(outcome);
    });
  }
  return attachments;
}

/** `key` is that of its secrets, when it has some of its own. */
function convertChannel(
  { old, manifest }: Conversion,
  version: string,
  { type, config }: Pick<OldEntry, "type" | "config">,
  { channels, channelSecrets }: Attachments,
  key?: string,
): Outcome {
  const known = own(manifest.channels, type);
  if (!known || !inRange(version, known.when)) throw new Skipped(`${manifest.title} has no channel ${type}`);
  if (own(channels, type)) throw new Skipped(`the agent has another ${type} channel`);
  const { fields, dropped } = answersFrom(known.fields, config);
  channels[type] = fields;
  for (const [name, entry] of Object.entries((key && own(old.secrets, key)) || {})) {
    const secret = [`${type}_${name}`.toUpperCase(), name].find((word) => known.fields.some((f) => f.secret === word));
    if (secret) channelSecrets[secret] = entry;
    else dropped.push(name);
  }
  return { to: type, remarks: without(dropped) };
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

function convertIntegration(conversion: Conversion, entry: OldEntry, attachments: Attachments): Outcome {
  const bucket = own(conversion.old.secrets, `integration:${entry.name}`) ?? {};
  const asWhat = own(serverFields, entry.type) ? asServer : asVariables;
  return asWhat(conversion, entry, bucket, attachments);
}

function asServer(
  { manifest }: Conversion,
  { type }: OldEntry,
  bucket: Record<string, SecretEntry>,
  { mcp, integrationSecrets }: Attachments,
): Outcome {
  const server = own(manifest.mcp, type);
  if (!server) throw new Skipped(`there is no MCP server ${type}`);
  if (own(mcp, type)) throw new Skipped(`the agent has another ${type}`);
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
  return { to: `mcp ${type}`, remarks: without(dropped) };
}

function asVariables(
  { manifest }: Conversion,
  { name, type }: OldEntry,
  bucket: Record<string, SecretEntry>,
  { integrationSecrets }: Attachments,
): Outcome {
  const variables = own(variablesOf, type);
  if (!variables) throw new Skipped(`clm does not know ${type}`);
  const found = Object.entries(variables).flatMap(([credential, variable]) => {
    const entry = own(bucket, credential);
    if (!entry || useOf(manifest, variable).kind === "own") return [];
    integrationSecrets[variable] = entry;
    if (type === "github") integrationSecrets[`${variable}_${name.toUpperCase().replaceAll("-", "_")}`] = entry;
    return [variable];
  });
  if (found.length === 0) throw new Skipped("it has no credentials");
  return { to: found.join(", "), remarks: [] };
}
