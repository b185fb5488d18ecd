import { join } from "node:path";
import { type HostName, labelsFrom } from "../../../names.js";
import type { Host } from "../../../state/hosts.js";
import { ownerKey } from "../../../state/secret-owner.js";
import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { addRow, type Conversion, type ConvertedFleet, Skipped, without } from "./conversion.js";
import { convertAgent } from "./convert-agent.js";
import { convertProviders } from "./convert-providers.js";
import { hostNames, wordsFor } from "./names.js";
import type { OldHost } from "./shapes.js";

/** Where both Clawrium and clm keep the key of a host, below their directory. */
export const keyFile = (keyId: string): string => join("keys", keyId, "xclm_ed25519");

/** Pure: contacts no host, writes nothing. */
export function convertFleet(input: Omit<Conversion, "fleet">): ConvertedFleet {
  const { old } = input;
  const fleet: ConvertedFleet = { hosts: [], providers: {}, secrets: [], gone: [], keys: {}, rows: [] };
  const conversion = { ...input, fleet };
  const providers = convertProviders(conversion);
  const names = hostNames(old.hosts, input.hostNames);
  for (const [index, host] of old.hosts.entries()) {
    const name = names[index] as HostName;
    const [word = ""] = wordsFor(host);
    const from = word === host.hostname ? word : `${word} (${host.hostname})`;
    const converted = addRow(fleet, "host", from, () => convertHost(conversion, host, name));
    if (!converted) continue;
    const { record } = converted;
    for (const [key, raw] of Object.entries(host.agents)) {
      convertAgent(conversion, { old: host, host: record, key }, raw, providers);
    }
    fleet.hosts.push(record);
  }
  const targets = new Set(fleet.secrets.map(({ instance }) => ownerKey(instance)));
  fleet.gone = [...new Set(fleet.gone)].filter((key) => !targets.has(key));
  return fleet;
}

function convertHost({ old, fleet, configDir, now }: Conversion, host: OldHost, name: HostName) {
  if (host.os_family && host.os_family !== "linux") {
    throw new Skipped(`clm manages Linux hosts, and this is ${host.os_family}`);
  }
  const { labels, dropped } = labelsOf(host);
  const { key_id: keyId = "" } = host;
  const key = own(old.keys, keyId);
  if (key !== undefined) fleet.keys[keyId] = key;
  const record: Host = defined({
    name,
    address: host.hostname,
    port: host.port,
    user: host.user || undefined,
    identity: key === undefined ? undefined : join(configDir, keyFile(keyId)),
    labels,
    added_at: host.metadata?.added_at ?? now,
    // How Clawrium set its user up; read again when the host is contacted.
    sudo: "passwordless" as const,
    agents: {},
  });
  const noKey = key !== undefined ? [] : ["its key is missing: your own SSH settings are used"];
  return { record, to: name, remarks: [...noKey, ...without(dropped.map((label) => `label ${label}`))] };
}

/** Clawrium's labels, and its tags as labels with the value `yes`. */
function labelsOf({ metadata }: OldHost): { labels: Record<string, string>; dropped: string[] } {
  const tags = (metadata?.tags ?? []).map((tag): [string, string] => [tag, "yes"]);
  const labels = Object.entries(metadata?.labels ?? {}).map(([key, value]): [string, string] => [key, String(value)]);
  const dropped: string[] = [];
  const valid = [...tags, ...labels].filter(([key, value]) => {
    try {
      return labelsFrom([`${key}=${value}`]);
    } catch {
      dropped.push(key);
      return false;
    }
  });
  return { labels: Object.fromEntries(valid), dropped };
}
