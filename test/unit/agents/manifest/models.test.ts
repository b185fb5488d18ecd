import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadModels } from "../../../../src/agents/manifest/models.js";
import { loadTypes } from "../../../../src/agents/manifest/registry.js";
import { faultOf, scratchDirectories } from "../../state/scratch.js";

const directory = scratchDirectories();

function withOverlay(text?: string): string {
  const dir = directory();
  if (text !== undefined) writeFileSync(join(dir, "models.yaml"), text);
  return dir;
}

describe("built-in prices", () => {
  it.each([
    ["anthropic", "claude-opus-4-5-20251101", { input: 5, output: 25, context: 200_000 }],
    ["anthropic", "claude-opus-4-1", { input: 15, output: 75, context: 200_000 }],
    ["openai", "gpt-5-mini", { input: 0.25, output: 2, context: 400_000 }],
    ["openai", "gpt-5", { input: 1.25, output: 10, context: 400_000 }],
    ["openrouter", "anthropic/claude-sonnet-4.5", { input: 3, output: 15, context: 200_000 }],
    ["openrouter", "qwen/qwen3:free", { input: 0, output: 0 }],
    ["ollama", "whatever", { input: 0, output: 0 }],
    ["openai", "claude-opus-4-5", undefined],
    ["openai", "my-own", undefined],
    ["no-such-type", "gpt-5", undefined],
  ])("%s %s", async (type, model, facts) => {
    expect((await loadModels(withOverlay())).of(type, model)).toEqual(facts);
  });

  it("has a price for the usual model of the common types", async () => {
    const [hermes] = await loadTypes(directory());
    const models = await loadModels(directory());
    for (const type of ["openrouter", "anthropic", "openai", "xai", "ollama"]) {
      const { model = "" } = hermes?.manifest.providers[type] ?? {};
      expect([type, models.of(type, model)?.input]).not.toContain(undefined);
    }
  });
});

describe("the user's prices", () => {
  it("counts first, and leaves the rest", async () => {
    const models = await loadModels(
      withOverlay("models:\n  openai:\n    gpt-5*: { input: 9 }\n  house:\n    '*': { input: 1, output: 2 }\n"),
    );
    expect(models.of("openai", "gpt-5")).toEqual({ input: 9, output: 10, context: 400_000 });
    expect(models.of("openai", "gpt-4o")).toEqual({ input: 2.5, output: 10, context: 128_000 });
    expect(models.of("house", "x")).toEqual({ input: 1, output: 2 });
  });

  it("can be for every type", async () => {
    const models = await loadModels(withOverlay("models: { '*': { 'my-*': { input: 1, output: 1 } } }"));
    expect([models.of("", "my-own"), models.of("openai", "my-own")]).toEqual(Array(2).fill({ input: 1, output: 1 }));
  });

  it.each(["", "# nothing yet\n", "models:\n"])("may be nothing: %j", async (text) => {
    expect((await loadModels(withOverlay(text))).of("ollama", "x")).toEqual({ input: 0, output: 0 });
  });

  it.each([
    ["models: [", /^line 1/],
    ["- 1", /map with `models:`/],
    ["openai: { a: {} }", /'openai' is not known here/],
    ["models: 3", /map of provider types/],
    ["models: { openai: 3 }", /models\.openai should be a map/],
    ["models: { openai: { a: 3 } }", /models\.openai\.a should be/],
    ["models: { openai: { a: { price: 3 } } }", /'price' is not known/],
    ["models: { openai: { a: { input: cheap } } }", /models\.openai\.a\.input should be USD/],
    ["models: { openai: { a: { input: -1 } } }", /input should be USD/],
    ["models: { openai: { a: { input: .nan } } }", /input should be USD/],
    ["models: { openai: { a: { context: 1.5 } } }", /context should be a whole number/],
  ])("is refused with its path and why: %s", async (text, why) => {
    const dir = withOverlay(text);
    const fault = await faultOf(() => loadModels(dir));
    expect(fault.message).toContain(join(dir, "models.yaml"));
    expect(fault.why.join()).toMatch(why);
  });

  it("is refused when it cannot be read", async () => {
    const dir = directory();
    mkdirSync(join(dir, "models.yaml"));
    expect((await faultOf(() => loadModels(dir))).why).toEqual(["EISDIR"]);
  });
});
