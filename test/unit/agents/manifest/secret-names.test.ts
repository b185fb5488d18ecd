import { describe, expect, it } from "vitest";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { isStripped, useOf } from "../../../../src/agents/manifest/secret-names.js";

const { manifest } = await loadType("/nonexistent", "hermes");

describe("the purpose of a secret's name", () => {
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

describe("a variable that the commands of the agent never get", () => {
  it.each([
    ["GITHUB_TOKEN", true],
    ["GH_TOKEN", true],
    ["GITHUB_APP_ID", true],
    ["OPENAI_API_KEY", true],
    ["OPENROUTER_API_KEY", true],
    ["ANTHROPIC_BASE_URL", true],
    ["TAVILY_API_KEY", true],
    ["SUDO_PASSWORD", true],
    ["AWS_BEARER_TOKEN_BEDROCK", true],
    ["AWS_ACCESS_KEY_ID", false],
    ["MY_TOKEN", false],
    ["MY_GITHUB_TOKEN", false],
    ["GITHUB_TOKEN_2", false],
    ["NOTION_API_KEY", false],
  ])("%s: %s", (name, expected) => {
    expect(isStripped(manifest, name)).toBe(expected);
  });
});
