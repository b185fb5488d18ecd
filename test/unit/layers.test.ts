import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

/**
 * Imports point downwards. A layer may import itself, the listed layers, and the shared ones. `ui` is passed in as an
 * interface, so other layers may know only its types.
 */
const layers: Record<string, { code: string[]; types?: string[] }> = {
  cli: { code: ["agents", "flows", "gateway", "lab", "remote", "state", "ui"] },
  flows: { code: ["agents", "gateway", "lab", "remote", "state"], types: ["ui"] },
  // The gateway never asks a user and changes nothing on a host: what it needs of flows is passed in.
  gateway: { code: ["agents", "remote", "state"] },
  // A desired state is pure: it knows what an operation and a record are.
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

/** Files that only list what is in the folders below them. */
const isCatalog = (file: string) => /^cli\/(catalog|nouns|.+\/commands)\.ts$/.test(file);

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const root = resolve("src");
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)));

const layerOf = (file: string) => {
  const [first = "", ...rest] = file.split("/");
  return rest.length > 0 ? first : "root";
};

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm);
  // A text that is built in has no layer.
  const code = [...found].filter(([, , path]) => !path?.endsWith("?raw"));
  return code.map(([, type, path, lazy]) => ({
    from: file,
    to: relative(root, resolve(root, file, "..", path ?? lazy ?? "")),
    typeOnly: Boolean(type),
  }));
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

describe("imports between layers", () => {
  it.each(files)("%s", (file) => {
    const own = layerOf(file);
    for (const { to, typeOnly } of imports.get(file) ?? []) {
      const layer = layerOf(to);
      if (layer === own || shared.includes(layer)) continue;
      // main.ts is the one file at the root that starts everything.
      if (own === "root") expect([file, layer]).toEqual(["main.ts", "cli"]);
      else expect([...(layers[own]?.code ?? []), ...((typeOnly && layers[own]?.types) || [])]).toContain(layer);
    }
  });

  it("knows every layer", () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => layer !== "root").sort()).toEqual(
      Object.keys(layers).sort(),
    );
  });
});

describe("imports between folders", () => {
  /** One import of every pair of folders of the same layer, by `importing folder -> imported folder`. */
  const between = new Map<string, Import>();
  for (const each of [...imports.values()].flat()) {
    const [from, to] = [dirname(each.from), dirname(each.to)];
    if (from === to || layerOf(each.from) !== layerOf(each.to) || isCatalog(each.from)) continue;
    between.set(`${from} -> ${to}`, each);
  }

  /** The shortest way from one folder to another, as the edges on it. */
  function path(from: string, to: string, edges: string[]): string[] | undefined {
    const ways: [folder: string, way: string[]][] = [[from, []]];
    const seen = new Set([from]);
    for (const [folder, way] of ways) {
      if (folder === to) return way;
      for (const edge of edges) {
        const [start, end = ""] = edge.split(" -> ");
        if (start !== folder || seen.has(end)) continue;
        seen.add(end);
        ways.push([end, [...way, edge]]);
      }
    }
    return undefined;
  }

  const cycleThrough = (edge: string, edges: string[]): string[] | undefined => {
    const [from = "", to = ""] = edge.split(" -> ");
    const back = path(to, from, edges);
    return back && [edge, ...back];
  };

  it("have no cycle", () => {
    const edges = [...between.keys()];
    const told = (edge: string) => `${edge} (${between.get(edge)?.from} imports ${between.get(edge)?.to})`;
    const cycles = edges.flatMap((edge) => cycleThrough(edge, edges)?.map(told).join("\n  ") ?? []);
    expect(cycles, "break the cycle: move what both folders need into the lower one").toEqual([]);
  });
});
