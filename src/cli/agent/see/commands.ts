import type { Command } from "../../command.js";

/** How an agent is, what it says, and what is wrong with it. */
export const seeing: Command[] = [];
