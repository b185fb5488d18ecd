import type { AgentType } from "../type.js";

/** Any program of the user's own. It has no API that clm could talk to: a health check is all there is. */
const program: AgentType = {
  name: "program",
  renderer: () => import("./files.js"),
};

export default program;
