/** Where things are, unless somebody says otherwise. */
export const defaultPort = 4141;
export const defaultGatewayUrl = `http://127.0.0.1:${defaultPort}`;
export const defaultSignProxyPort = 4142;

/** The tools that settings are printed for. */
export const tools = ["codex", "aider", "cline", "curl", "python", "node", "shell"] as const;
export type Tool = (typeof tools)[number];
