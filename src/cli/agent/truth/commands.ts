import type { Command } from "../../command.js";

/** Whether an agent is as it was configured, and making it so. */
export const truth: Command[] = [];
