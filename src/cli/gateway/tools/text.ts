import { type Tool, tools } from "../../../flows/gateway/defaults.js";
import { settingsFor, type ToolSettings, type ToolTarget } from "../../../flows/gateway/tools/settings.js";

/** The settings of one tool, or of all. */
export const settingsOf = (tool: Tool | "all", reached: ToolTarget): ToolSettings[] =>
  (tool === "all" ? tools : [tool]).flatMap((each) => settingsFor(each, reached));

/** Each below a line that says where it goes. */
export const settingsText = (all: ToolSettings[]): string =>
  all.map(({ tool, where, text }) => `# ${tool}: ${where}\n${text}\n`).join("\n");
