import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

/**
 * Imports point downwards: words → intent → wish and host → memory. A layer may import itself, what is listed, and the
 * few files at the root of src. `ui` is handed in as an interface, so other layers may know its types only.
 */
const layers: Record<string, { code: string[]; types?: string[] }> = {
  cli: { code: ["agents", "flows", "gateway", "lab", "remote", "state", "ui"] },
  flows: { code: ["agents", "gateway", "lab", "remote", "state"], types: ["ui"] },
  // The door asks nobody and changes nothing on a host: what it needs of flows is handed in.
  gateway: { code: ["agents", "remote", "state"] },
  // A wish is pure: of the host it knows what an operation is, of memory what a record is.
  agents: { code: ["remote", "state"] },
  lab: { code: ["state"], types: ["ui"] },
  remote: { code: ["state"] },
  state: { code: [] },
  ui: { code: [] },
  text: { code: [] },
  async: { code: [] },
};

/** Every layer may use these: the few files at the root, and small pure helpers. */
const shared = ["root", "text", "async"];

const root = resolve("src");
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => join(entry.parentPath, entry.name));

const layerOf = (file: string) => {
  const [first = "", ...rest] = relative(root, file).split("/");
  return rest.length > 0 ? first : "root";
};

function imports(file: string): { layer: string; typeOnly: boolean }[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm);
  // A text that is built in has no layer.
  const code = [...found].filter(([, , path]) => !path?.endsWith("?raw"));
  return code.map(([, type, path, lazy]) => ({
    layer: layerOf(resolve(file, "..", path ?? lazy ?? "")),
    typeOnly: Boolean(type),
  }));
}

describe("who may import whom", () => {
  it.each(files.map((file) => [relative(root, file), file]))("%s", (_name, file) => {
    const own = layerOf(file);
    for (const { layer, typeOnly } of imports(file)) {
      if (layer === own || shared.includes(layer)) continue;
      // main.ts is the one file at the root that starts everything.
      if (own === "root") expect([relative(root, file), layer]).toEqual(["main.ts", "cli"]);
      else expect([...(layers[own]?.code ?? []), ...((typeOnly && layers[own]?.types) || [])]).toContain(layer);
    }
  });

  it("knows every layer", () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => layer !== "root").sort()).toEqual(
      Object.keys(layers).sort(),
    );
  });
});
