import { isScalar, isSeq } from "yaml";
import { expandAliases } from "../../files/yaml-aliases.js";
import { parsedConfig } from "../../files/yaml-merge.js";
import { isBranch } from "../../files/yaml-nodes.js";
import { scalarValue } from "../../files/yaml-scalar.js";
import type { Setting } from "./mcp-servers.js";

/** The value of a key in config.yaml, with every scalar as written. */
export function settingIn(config: string, key: string): Setting | undefined {
  const doc = parsedConfig(config);
  expandAliases(doc);
  const all = settingOf(doc.contents);
  return all instanceof Map ? all.get(key) : undefined;
}

function settingOf(node: unknown): Setting {
  if (isBranch(node)) {
    return new Map(node.items.map(({ key, value }) => [isScalar(key) ? String(key.value) : "", settingOf(value)]));
  }
  if (isSeq(node)) return node.items.map(settingOf);
  return isScalar(node) ? { text: String(node.value), value: scalarValue(node) } : { text: "", value: null };
}
