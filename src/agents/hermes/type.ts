import type { AgentType } from "../type.js";

const hermes: AgentType = {
  name: "hermes",
};

export default hermes;
