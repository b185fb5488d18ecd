import { agent } from "./agent/commands.js";
import { auditNoun } from "./audit/commands.js";
import type { Noun } from "./command.js";
import { completionNoun } from "./completion/commands.js";
import { host } from "./host/commands.js";
import { importNoun } from "./import/commands.js";
import { initNoun } from "./init/commands.js";
import { lab } from "./lab/commands.js";
import { provider } from "./provider/commands.js";
import { registry } from "./registry/commands.js";
import { versionNoun } from "./version/commands.js";

/** Everything clm can be asked, in the order help shows it. A noun whose one command has its name takes no verb. */
export const catalog: readonly Noun[] = [
  initNoun,
  host,
  agent,
  provider,
  registry,
  lab,
  importNoun,
  auditNoun,
  completionNoun,
  versionNoun,
];
