import { join } from "node:path";
import { type HostName, labelsFrom } from "../../../names.js";
import type { Host } from "../../../state/hosts.js";
import { ownerKey } from "../../../state/secret-owner.js";
import { takeAgent } from "./agents.js";
import { hostNames, wordsFor } from "./names.js";
import { takeProviders } from "./providers.js";
import type { OldHost } from "./shapes.js";
import { own, type Taken, type Terms } from "./taken.js";

/** Where Clawrium keeps the key of a host, and where clm keeps it from then on, below the directory of each. */
export const keyFile = (keyId: string): string => join("keys", keyId, "xclm_ed25519");

/** A fleet of Clawrium's as clm would have it. Pure: no host is asked, nothing is written. */
export function takeFleet(terms: Terms): Taken {
  const { old } = terms;
  const providers = takeProviders(terms);
  const names = hostNames(old.hosts, terms.hostNames);
  const taken: Taken = {
    hosts: [],
    providers: Object.fromEntries([...providers.byOldName.values()].map(({ name, provider }) => [name, provider])),
    secrets: [...providers.secrets],
    gone: [...providers.gone],
    keys: {},
    rows: [...providers.rows],
  };
  for (const [index, host] of old.hosts.entries()) {
    const name = names[index] as HostName;
    const [word = ""] = wordsFor(host);
    const from = word === host.hostname ? word : `${word} (${host.hostname})`;
    if (host.os_family && host.os_family !== "linux") {
      taken.rows.push({
        what: "host",
        from,
        remark: `not taken over: agents are looked after on Linux, and this is ${host.os_family}`,
      });
      continue;
    }
    const { record, remarks } = takeHost(terms, host, name);
    taken.rows.push({ what: "host", from, to: name, ...(remarks.length > 0 && { remark: remarks.join("; ") }) });
    if (record.identity && host.key_id) taken.keys[host.key_id] = own(old.keys, host.key_id) ?? "";
    for (const [key, raw] of Object.entries(host.agents)) {
      const { agent, rows } = takeAgent(terms, { host, name }, key, raw, providers);
      taken.rows.push(...rows);
      if (!agent) continue;
      record.agents[agent.name] = agent.record;
      taken.secrets.push(...agent.secrets);
      taken.gone.push(...agent.gone);
    }
    taken.hosts.push(record);
  }
  const targets = new Set(taken.secrets.map(({ instance }) => ownerKey(instance)));
  taken.gone = [...new Set(taken.gone)].filter((key) => !targets.has(key));
  return taken;
}

function takeHost({ old, configDir, now }: Terms, host: OldHost, name: HostName): { record: Host; remarks: string[] } {
  const { labels, dropped } = labelsOf(host);
  const hasKey = host.key_id !== undefined && own(old.keys, host.key_id) !== undefined;
  const record: Host = {
    name,
    address: host.hostname,
    ...(host.port && { port: host.port }),
    ...(host.user && { user: host.user }),
    ...(hasKey && host.key_id && { identity: join(configDir, keyFile(host.key_id)) }),
    labels,
    added_at: host.metadata?.added_at ?? now,
    // So its user was set up; whoever reaches the host sees whether it still is.
    sudo: "passwordless",
    agents: {},
  };
  const remarks = [
    ...(hasKey ? [] : ["its key is missing: your own SSH settings are used"]),
    ...(dropped.length > 0 ? [`without label ${dropped.join(", ")}`] : []),
  ];
  return { record, remarks };
}

/** Labels as they are; a tag is a label that says yes. */
function labelsOf({ metadata }: OldHost): { labels: Record<string, string>; dropped: string[] } {
  const said = [
    ...(metadata?.tags ?? []).map((tag) => [tag, "yes"]),
    ...Object.entries(metadata?.labels ?? {}).map(([key, value]) => [key, String(value)]),
  ] as [string, string][];
  const dropped: string[] = [];
  const labels = said.filter(([key, value]) => {
    try {
      return labelsFrom([`${key}=${value}`]);
    } catch {
      dropped.push(key);
      return false;
    }
  });
  return { labels: Object.fromEntries(labels), dropped };
}
