import type { AgentType } from "../type.js";

const hermes: AgentType = {
  name: "hermes",
  handoff: () => import("./handoff/handoff.js"),
  memory: () => import("./memory.js"),
  sessions: () => import("./sessions/sessions.js"),
  renderer: () => import("./rendering.js"),
};

export default hermes;
