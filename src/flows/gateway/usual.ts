/** Where things are, unless somebody says otherwise. */
export const usualPort = 4141;
export const usualGateway = `http://127.0.0.1:${usualPort}`;
export const usualSignProxy = 4142;

/** The tools that settings are printed for. */
export const tools = ["codex", "aider", "cline", "curl", "python", "node", "shell"] as const;
export type Tool = (typeof tools)[number];
