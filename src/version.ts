import { readFileSync } from "node:fs";

/** Put in by the build. Without one (tests run the sources) the version is read from package.json. */
declare const __CLM_VERSION__: string | undefined;

export const VERSION: string = typeof __CLM_VERSION__ === "string" ? __CLM_VERSION__ : fromPackage();

function fromPackage(): string {
  const found: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  if (typeof found === "object" && found && "version" in found) return String(found.version);
  return "unknown";
}
