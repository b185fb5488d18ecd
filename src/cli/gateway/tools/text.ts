import { type Reached, type Settings, settingsFor } from "../../../flows/gateway/tools/settings.js";
import { type Tool, tools } from "../../../flows/gateway/usual.js";

/** The settings of one tool, or of all. */
export const settingsOf = (tool: Tool | "all", reached: Reached): Settings[] =>
  (tool === "all" ? tools : [tool]).flatMap((each) => settingsFor(each, reached));

/** Each below a line that says where it goes. */
export const settingsText = (all: Settings[]): string =>
  all.map(({ tool, where, text }) => `# ${tool}: ${where}\n${text}\n`).join("\n");
