import { auditNoun } from "./audit/commands.js";
import type { Command, Noun } from "./command.js";
import { completionNoun } from "./completion/commands.js";
import { host } from "./host/commands.js";
import { initNoun } from "./init/commands.js";
import { lab } from "./lab/commands.js";
import { versionNoun } from "./version/commands.js";

/** Everything clm can be asked, in the order help shows it. A noun whose one command has its name takes no verb. */
export const catalog: readonly Noun[] = [initNoun, host, lab, auditNoun, completionNoun, versionNoun];

/** The command of a noun that takes no verb, such as `clm audit`. */
export const verbless = (noun: Noun): Command | undefined =>
  noun.commands.find((command) => command.path === noun.name);
