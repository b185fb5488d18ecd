import type { Command } from "../../command.js";

/** Ways in: its own account, its key, its pages. */
export const inside: Command[] = [];
