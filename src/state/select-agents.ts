import { Fault } from "../errors.js";
import type { Label } from "../names.js";
import { isGlob, matchesPattern } from "../text/wildcard.js";
import { type Agent, agentsOf, findAgent, hostAndName, isSpeakable } from "./agents.js";
import type { Fleet } from "./hosts.js";
import { selectHosts } from "./select-hosts.js";

export interface AgentChoice {
  /** `NAME`, `HOST/NAME`, and patterns of either: `web-*`, `rack-?/*`. */
  words: readonly string[];
  /** Only those on hosts that match one of these, and have all of the labels. */
  hosts: readonly string[];
  labels: readonly Label[];
  type?: string | undefined;
  all: boolean;
}

/** Sorted by host and name, each once. Throws for a word that matches nothing: it is usually a typing error. */
export function selectAgents(fleet: Fleet, { words, hosts, labels, type, all }: AgentChoice): Agent[] {
  const narrowed = hosts.length > 0 || labels.length > 0 || type !== undefined;
  if (all && (words.length > 0 || narrowed)) {
    throw new Fault("usage", "--all cannot be combined with names, --host, --label or --type", {
      why: "it selects every agent",
    });
  }
  if (!all && words.length === 0 && !narrowed) {
    throw new Fault("usage", "no agent was named", { why: "name some, or pass --all", next: "clm agent list" });
  }
  const among = new Set(narrowed ? selectHosts(fleet.hosts, hosts, labels).map(({ name }) => name) : []);
  const possible = agentsOf(fleet).filter(
    ({ host, record }) => (!narrowed || among.has(host.name)) && (type === undefined || record.type === type),
  );
  const named = new Set(words.flatMap((word) => refsFor(fleet, possible, word)));
  const chosen = words.length === 0 ? possible : possible.filter((agent) => named.has(hostAndName(agent)));
  if (chosen.length > 0) return chosen.sort(byHostAndName);
  const none = type === undefined ? "no agent is on such a host" : `no agent there is of type ${type}`;
  throw new Fault("not-found", narrowed ? none : "no agent has been installed yet", {
    next: narrowed ? "clm agent list" : "clm agent install --help",
  });
}

/** `web-2` before `web-10`. */
const byHostAndName = (a: Agent, b: Agent): number => {
  const inOrder = (one: string, other: string) => one.localeCompare(other, "en", { numeric: true });
  return inOrder(a.host.name, b.host.name) || inOrder(a.name, b.name);
};

/** References of the agents a word selects. An ambiguous plain name throws; a pattern selects all that match. */
function refsFor(fleet: Fleet, possible: Agent[], word: string): string[] {
  if (!isGlob(word)) {
    const agent = findAgent(fleet, word);
    if (possible.some((each) => hostAndName(each) === hostAndName(agent))) return [hostAndName(agent)];
    throw new Fault("not-found", `${hostAndName(agent)} is not among the agents that --host, --label or --type choose`);
  }
  const text = word.includes("/") ? hostAndName : ({ name }: Agent) => name;
  const found = possible.filter((agent) => matchesPattern(word, text(agent)));
  if (found.length > 0) return found.map(hostAndName);
  const what = isSpeakable(word) ? `no agent's name matches '${word}'` : "no agent's name matches that";
  throw new Fault("not-found", what, { next: "clm agent list" });
}
