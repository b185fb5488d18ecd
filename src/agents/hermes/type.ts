import type { AgentType } from "../type.js";

const hermes: AgentType = {
  name: "hermes",
  chat: async () => (await import("./chat/chat-dialect.js")).default,
  upstream: async () => (await import("./chat/upstream-dialect.js")).default,
  handoff: () => import("./handoff/handoff.js"),
  memory: () => import("./memory.js"),
  sessions: () => import("./sessions/sessions.js"),
  runtimes: { codex: () => import("./codex/codex.js") },
  renderer: () => import("./rendering.js"),
};

export default hermes;
