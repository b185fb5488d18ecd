import { homedir } from "node:os";
import { resolve } from "node:path";
import { Fault } from "../../errors.js";
import { byName, labelsFrom } from "../../names.js";
import { type Host, hostStore } from "../../state/hosts.js";
import { selectHosts } from "../../state/select-hosts.js";
import type { Context } from "../command.js";

export interface Choice {
  all: boolean;
  label: string[];
  patterns: string[];
}

/** The hosts a command is about. Naming some and asking for all is a contradiction, and nobody guesses which was meant. */
export function chooseHosts({ configDir }: Context, { all, label, patterns }: Choice): Host[] {
  const hosts = hostStore(configDir).read().hosts.sort(byName);
  if (!all) return selectHosts(hosts, patterns, labelsFrom(label));
  if (label.length === 0 && patterns.length === 0) return hosts;
  throw new Fault("usage", "--all goes with neither names nor --label", { why: "it means every host there is" });
}

/** A key file as it is recorded: whatever directory clm is run from later, it is the same file. */
export const identityFrom = (typed: string | undefined): string | undefined =>
  typed && resolve(typed.replace(/^~(?=\/)/, homedir()));
