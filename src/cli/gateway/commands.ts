import type { Verbs } from "../command.js";
import { audit } from "./audit/commands.js";
import { key, usage } from "./keys/commands.js";
import { serve } from "./serve/commands.js";
import { signing } from "./signing/commands.js";

export const gateway: Verbs = {
  commands: [serve, usage, ...signing, audit],
  nouns: [key],
};
