import type { Verbs } from "../command.js";
import { audit } from "./audit/commands.js";
import { key, usage } from "./keys/commands.js";
import { serve } from "./serve/commands.js";
import { signProxy } from "./signing/commands.js";
import { env } from "./tools/commands.js";

export const gateway: Verbs = {
  commands: [serve, usage, signProxy, env, audit],
  nouns: [key],
};
