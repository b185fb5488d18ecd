import type { AgentType } from "../type.js";

const hermes: AgentType = {
  name: "hermes",
  memory: () => import("./memory.js"),
};

export default hermes;
