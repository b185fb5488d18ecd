/** Hermes' own log files, in the folder `logs` of its data. What stands in several of them is told as of the first. */
export const logFiles = ["agent", "gateway", "errors", "mcp-stderr"] as const;

export const sources = ["journal", ...logFiles] as const;
export type Source = (typeof sources)[number];

/** What MCP servers write to stderr: only where one begins is there a time, so each line is an entry of its own. */
export const isLoose = (source: Source): boolean => source === "mcp-stderr";
