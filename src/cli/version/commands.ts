import { command } from "../command.js";

export const version = command({
  path: "version",
  summary: "print the version of clm",
  formats: ["table", "json", "yaml"],
  examples: [{ run: "clm version" }, { run: "clm version -o json", note: "with Node's version and the platform" }],
  load: () => import("./version.js"),
});
