import { command } from "../command.js";

export const version = command({
  path: "version",
  summary: "print the version of clm",
  formats: ["table", "json", "yaml"],
  examples: ["clm version", "clm version -o json   # with Node's version and the platform"],
  load: () => import("./version.js"),
});
