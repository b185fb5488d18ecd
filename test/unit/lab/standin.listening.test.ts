import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Standin, standins } from "../../../src/lab/standin.js";
import { startEcho, startStandin } from "./standin-process.js";

// Where the channels of each release listen, and what its terminal tool has of the environment.

describe.each(Object.keys(standins) as Standin[])("the stand-in of %s", (version) => {
  let made: Awaited<ReturnType<typeof startStandin>>;
  let echo: Awaited<ReturnType<typeof startEcho>>;
  beforeAll(async () => {
    echo = await startEcho();
    made = await startStandin(version, echo.port);
  });
  afterAll(async () => {
    await made.stop();
    await echo.stop();
  });
  const address = (channel: string, config: object, env: Record<string, string> = {}) =>
    made.python(
      `import json, sys\nfrom hermes_cli import webhooks\nprint(json.dumps(webhooks.address_of(${JSON.stringify(channel)}, json.loads(${JSON.stringify(JSON.stringify(config))}))))`,
      env,
    );

  it.each([
    ["webhook", {}, {}, ["0.0.0.0", 8644]],
    ["webhook", {}, { WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: "8650" }, ["0.0.0.0", 8650]],
    ["webhook", { platforms: { webhook: { extra: { host: "127.0.0.1", port: 8651 } } } }, {}, ["127.0.0.1", 8651]],
    ["line", {}, {}, ["0.0.0.0", 8646]],
    ["line", {}, { LINE_HOST: "127.0.0.1" }, ["127.0.0.1", 8646]],
    ["wecom_callback", {}, {}, ["0.0.0.0", 8645]],
    ["wecom_callback", {}, { WECOM_CALLBACK_HOST: "127.0.0.1" }, ["127.0.0.1", 8645]],
    [
      "teams",
      { platforms: { teams: { extra: { host: "127.0.0.1" } } } },
      { TEAMS_HOST: "127.0.0.1" },
      ["0.0.0.0", 3978],
    ],
    ["sms", {}, {}, ["127.0.0.1", 8080]],
    ["bluebubbles", {}, {}, ["127.0.0.1", 8645]],
  ])("has %s with %j and %j at %j", (channel, config, env, expected) => {
    expect(address(channel, config, env)).toEqual(expected);
  });

  it("keeps what Hermes knows from the terminal tool, and nothing else", () => {
    const shown = (name: string) =>
      made.python(
        `import json\nfrom hermes_cli import environment\nprint(json.dumps(environment.printenv("${name}")))`,
        {
          GITHUB_TOKEN: "one",
          MY_TOKEN: "two",
          OPENROUTER_API_KEY: "three",
          DISCORD_BOT_TOKEN: "four",
        },
      );
    expect(["GITHUB_TOKEN", "MY_TOKEN", "OPENROUTER_API_KEY", "DISCORD_BOT_TOKEN"].map(shown)).toEqual([
      ...["GITHUB_TOKEN is not set", "two", "OPENROUTER_API_KEY is not set", "DISCORD_BOT_TOKEN is not set"],
    ]);
  });
});
