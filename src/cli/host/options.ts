import { homedir } from "node:os";
import { resolve } from "node:path";
import { Fault } from "../../errors.js";
import { byName, labelsFrom } from "../../names.js";
import { type Host, hostStore } from "../../state/hosts.js";
import { selectHosts } from "../../state/select-hosts.js";
import type { Context } from "../command.js";

interface HostSelection {
  all: boolean;
  label: string[];
  patterns: string[];
}

/** The selected hosts. --all together with names or labels is an error: it is unclear which is meant. */
export function chooseHosts({ configDir }: Context, { all, label, patterns }: HostSelection): Host[] {
  const hosts = hostStore(configDir).read().hosts.sort(byName);
  if (!all) return selectHosts(hosts, patterns, labelsFrom(label));
  if (label.length === 0 && patterns.length === 0) return hosts;
  throw new Fault("usage", "--all cannot be combined with names or --label", { why: "it selects every host" });
}

/** Absolute, because clm may run in another directory later. */
export const identityFrom = (typed: string | undefined): string | undefined =>
  typed && resolve(typed.replace(/^~(?=\/)/, homedir()));
