import type { Manifest } from "../../../agents/manifest/manifest.js";
import { useOf } from "../../../agents/manifest/secret-names.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import { answersFrom } from "./answers.js";
import type { OldFleet } from "./read.js";
import type { OldAgent } from "./shapes.js";
import { own, type Row } from "./taken.js";

export interface TakenIntegrations {
  /** By server, as the agent's record has it. */
  mcp: Record<string, { fields: Record<string, string> }>;
  /** By the name they get among the agent's secrets. */
  secrets: Record<string, SecretEntry>;
  gone: string[];
  rows: Row[];
}

/** Credentials of Clawrium's that are answers to a server's questions. Its token has the same name here. */
const answersOf: Record<string, Record<string, string>> = {
  atlassian: {
    ATLASSIAN_URL: "url",
    ATLASSIAN_EMAIL: "username",
    JIRA_PROJECTS_FILTER: "jira_projects",
    CONFLUENCE_SPACES_FILTER: "confluence_spaces",
  },
};

/** Of these, what is known is only a credential that Clawrium puts into `.env` under the same or another name. */
const variablesOf: Record<string, Record<string, string>> = {
  github: { GITHUB_TOKEN: "GITHUB_TOKEN" },
  gitlab: { GITLAB_TOKEN: "GITLAB_TOKEN", GITLAB_URL: "GITLAB_URL" },
  linear: { LINEAR_API_KEY: "LINEAR_API_KEY" },
  notion: { NOTION_API_KEY: "NOTION_API_KEY" },
  brave: { BRAVE_API_KEY: "BRAVE_SEARCH_API_KEY" },
};

export function takeIntegrations(old: OldFleet, manifest: Manifest, agent: OldAgent, title: string): TakenIntegrations {
  const taken: TakenIntegrations = { mcp: {}, secrets: {}, gone: [], rows: [] };
  // Of several GitHub accounts the alphabetically last one is the default in Clawrium.
  for (const { name } of agent.integrations.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const found = old.integrations.find((each) => each.name === name);
    const row =
      found && "entry" in found
        ? takeIntegration(old, manifest, { name, type: found.entry.type }, taken)
        : { remark: `not taken over: ${found ? found.flaw : "it is not there"}` };
    const from = found && "entry" in found ? `${name} (${found.entry.type})` : name;
    taken.rows.push({ what: "integration", from, ...row, ...(row.to && { to: `${title} ${row.to}` }) });
  }
  return taken;
}

function takeIntegration(
  old: OldFleet,
  manifest: Manifest,
  { name, type }: { name: string; type: string },
  taken: TakenIntegrations,
): Pick<Row, "to" | "remark"> {
  const key = `integration:${name}`;
  const bucket = own(old.secrets, key) ?? {};
  const row = own(answersOf, type)
    ? asServer(manifest, type, bucket, taken)
    : asVariables(manifest, { name, type }, bucket, taken);
  if (row.to) taken.gone.push(key);
  return row;
}

function asServer(
  manifest: Manifest,
  type: string,
  bucket: Record<string, SecretEntry>,
  taken: TakenIntegrations,
): Pick<Row, "to" | "remark"> {
  const server = own(manifest.mcp, type);
  if (!server) return { remark: `not taken over: there is no MCP server ${type}` };
  if (own(taken.mcp, type)) return { remark: `not taken over: the agent has another ${type}` };
  const names = own(answersOf, type) ?? {};
  const given = Object.entries(bucket).flatMap(([name, kept]) => {
    const field = own(names, name);
    return field ? [[field, kept.value.replace(/\/+$/, "")]] : [];
  });
  const { fields, dropped } = answersFrom(server.fields, Object.fromEntries(given));
  for (const { secret } of server.fields) {
    const kept = secret && own(bucket, secret);
    if (secret && kept) taken.secrets[secret] = kept;
  }
  taken.mcp[type] = { fields };
  return { to: `mcp ${type}`, ...(dropped.length > 0 && { remark: `without ${dropped.join(", ")}` }) };
}

function asVariables(
  manifest: Manifest,
  { name, type }: { name: string; type: string },
  bucket: Record<string, SecretEntry>,
  taken: TakenIntegrations,
): Pick<Row, "to" | "remark"> {
  const variables = own(variablesOf, type);
  if (!variables) return { remark: `not taken over: nothing is known of ${type}` };
  const found = Object.entries(variables).flatMap(([credential, variable]) => {
    const kept = own(bucket, credential);
    if (!kept || useOf(manifest, variable).kind === "own") return [];
    taken.secrets[variable] = kept;
    if (type === "github") taken.secrets[`${variable}_${name.toUpperCase().replaceAll("-", "_")}`] = kept;
    return [variable];
  });
  return found.length > 0 ? { to: found.join(", ") } : { remark: "not taken over: it has no credentials" };
}
