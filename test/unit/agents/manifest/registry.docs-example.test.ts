import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { scratchDirectories } from "../../state/scratch.js";

const scratch = scratchDirectories();

test("the manifest in docs/providers.md is one clm can use", async () => {
  const [, example = ""] = /```yaml\n([\s\S]*?)```/.exec(readFileSync("docs/providers.md", "utf8")) ?? [];
  const dir = scratch();
  mkdirSync(join(dir, "manifests"));
  writeFileSync(join(dir, "manifests", "mine.yaml"), example);
  const { manifest } = await loadType(dir, "hermes");
  expect(manifest.providers.acme?.title).toBe("Acme Models");
});
