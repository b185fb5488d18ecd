import { programOf } from "../../flows/gate.js";
import { byName } from "../../names.js";
import { agentId } from "../../state/agents.js";
import type { Fleet } from "../../state/hosts.js";
import type { Provider, Providers } from "../../state/providers.js";
import type { Secrets } from "../../state/secrets.js";
import type { View } from "../command.js";
import { describe } from "../describe.js";
import { usersOf } from "./users.js";

export interface Sources {
  fleet: Fleet;
  secrets: Secrets;
}

/** A provider with the places of its secrets and the agents that use it. Contains no secret. */
export const rowOf = (name: string, provider: Provider, { fleet, secrets }: Sources) => ({
  name,
  ...provider,
  /** Names of the secrets that secrets.json holds. */
  stored: secrets.names({ provider: name }),
  /** Agents, as `host:type:name`. */
  used_by: usersOf(fleet, name).map(agentId),
});

type ProviderRow = ReturnType<typeof rowOf>;

export const rowsOf = ({ providers }: Providers, sources: Sources): ProviderRow[] =>
  Object.entries(providers)
    .map(([name, provider]) => rowOf(name, provider, sources))
    .sort(byName);

/** Where the key is: `stored`, `env:NAME`, or `none`. */
function keyPlace({ stored, references = {} }: ProviderRow): string {
  // A command may be long and contain a secret: a table shows only its program.
  const short = (text: string) => (text.startsWith("cmd:") ? `cmd:${programOf([text.slice(4)])}` : text);
  return [...Object.values(references).map(short), ...(stored.length > 0 ? ["stored"] : [])].join(", ") || "none";
}

export const providerView: View<ProviderRow> = {
  columns: [
    { title: "name", value: ({ name }) => name, whole: true },
    { title: "type", value: ({ type }) => type, whole: true },
    { title: "model", value: ({ model }) => model },
    { title: "at", value: ({ fields }) => fields.endpoint ?? fields.region, drop: 1 },
    { title: "key", value: keyPlace, drop: 3 },
    { title: "used by", value: ({ used_by }) => used_by.join(", "), drop: 2 },
  ],
  name: ({ name }) => name,
  empty: "No providers yet. Add one with: clm provider add NAME --type TYPE",
};

export function describeProvider(row: ProviderRow): string {
  const lines: [string, string | undefined][] = [
    ["Name", row.name],
    ["Type", row.type],
    ["Model", row.model],
    ...Object.entries(row.fields),
    ...Object.entries(row.references ?? {}),
    ["Stored", row.stored.join(", ")],
    ["Used by", row.used_by.join(", ")],
    ["Added", row.added_at],
    ["Updated", row.updated_at],
  ];
  return describe(Math.max(...lines.map(([title]) => title.length + 1), 10), lines);
}
