import type { AgentType } from "../type.js";

/** Any program of the user's own. It has no API that clm could use: only a health check. */
const program: AgentType = {
  name: "program",
  renderer: () => import("./files.js"),
};

export default program;
