import { describe, expect, it } from "vitest";
import { loadType } from "../../../src/agents/registry.js";
import { useOf } from "../../../src/agents/secret-names.js";

const { manifest } = await loadType("/nonexistent", "hermes");

describe("what a name among an agent's secrets is for", () => {
  it.each([
    ["HERMES_API_SERVER_KEY", "own"],
    ["HERMES_API_SERVER_KEY_NEXT", "own"],
    ["API_SERVER_KEY", "own"],
    ["API_SERVER_CORS_ORIGINS", "own"],
    ["HERMES_INFERENCE_PROVIDER", "own"],
    ["HERMES_HOME", "own"],
    ["LD_PRELOAD", "own"],
    ["PATH", "own"],
    ["DISCORD_BOT_TOKEN", "channel"],
    ["DISCORD_ALLOWED_USERS", "channel"],
    ["GITHUB_TOKEN", "extra"],
    ["MY_API_SERVER_KEY", "extra"],
    ["constructor", "extra"],
  ])("%s is %s", (name, kind) => {
    expect(useOf(manifest, name).kind).toBe(kind);
  });
});
