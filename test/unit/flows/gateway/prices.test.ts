import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { livePrices } from "../../../../src/flows/gateway/prices.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const directory = scratchDirectories();
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const priceOf = (input: number) => `models:\n  ollama:\n    "*": { input: ${input}, output: ${input} }\n`;

it("reads a changed file at the next request, and names its source", async () => {
  const configDir = directory();
  const file = join(configDir, "models.yaml");
  const { said } = await inSession({ configDir, yes: true }, async (session) => {
    const prices = await livePrices(session);
    const now = async () => {
      vi.setSystemTime(Date.now() + 1000);
      return (await prices()).of("ollama", "llama")?.input;
    };
    const own = await now();
    writeFileSync(file, priceOf(3));
    expect(await now()).toBe(3);
    writeFileSync(file, "models: [");
    expect([await now(), await now()]).toEqual([3, 3]);
    writeFileSync(join(configDir, "elsewhere.yaml"), priceOf(40));
    rmSync(file);
    symlinkSync("elsewhere.yaml", file);
    expect(await now()).toBe(40);
    writeFileSync(join(configDir, "elsewhere.yaml"), priceOf(500));
    expect(await now()).toBe(500);
    rmSync(file);
    expect(await now()).toBe(own);
  });
  expect(said().match(/keeps the prices it knew/g)).toHaveLength(1);
  expect(said()).toContain(`prices reloaded from ${file}`);
  expect(said().trim()).toMatch(/prices reloaded from those that come with clm$/);
});
