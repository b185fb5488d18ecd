import { expect, test } from "vitest";
import { checkAnswer } from "../../../../src/agents/manifest/fields.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { Fault } from "../../../../src/errors.js";

const { channels, providers } = (await loadType("/nowhere", "hermes")).manifest;

function field(of: "channels" | "providers", word: string) {
  const [name = "", each] = word.split(".");
  const found = { channels, providers }[of][name]?.fields.find((one) => one.name === each);
  if (!found) throw new Error(`no field ${word}`);
  return found;
}

test.each([
  ["discord.allowed_users", " 123456789012345678 , 223456789012345678,", "123456789012345678,223456789012345678"],
  ["discord.allowed_users", "123456789012345678,123456789012345678", "123456789012345678"],
  ["discord.allow_all_users", "Yes", "true"],
  ["discord.allow_all_users", "n", "false"],
  ["discord.home_channel", "  ", ""],
  ["discord.token", ` ${"a".repeat(60)}\n`, "a".repeat(60)],
  ["whatsapp.mode", "bot", "bot"],
  ["webhook.port", " 8650 ", "8650"],
  ["webhook.bind", " 0.0.0.0 ", "0.0.0.0"],
  ["webhook.bind", "::", "::"],
  ["webhook.bind", "10.0.0.5", "10.0.0.5"],
  ["teams.bind", "0.0.0.0", "0.0.0.0"],
  ["slack.bot_token", "xoxb-1234567890-abc", "xoxb-1234567890-abc"],
  ["slack.bot_token", "xoxb-1234567890-abc,xoxb-1234567890-def", "xoxb-1234567890-abc,xoxb-1234567890-def"],
])("%s takes %j", (word, text, kept) => {
  expect(checkAnswer(field("channels", word), text)).toBe(kept);
});

test.each([
  ["discord.allowed_users", ",, ,", "only commas"],
  ["discord.allowed_users", "123456789012345678,all", "17 to 20 digits"],
  ["discord.allowed_users", "1234567890123456", "17 to 20 digits"],
  ["discord.allow_all_users", "perhaps", "yes or no"],
  ["discord.token", "", "must be answered"],
  ["webhook.bind", "everywhere", "an address of the host"],
  ["webhook.bind", "127.0.0.1:8644", "an address of the host"],
  ["webhook.bind", "300.0.0.1", "an address of the host"],
  ["teams.bind", "127.0.0.1", "one of 0.0.0.0"],
  ["discord.token", "planted-short-secret", "50 to 120"],
  ["discord.home_channel_name", "a\nb", "control character"],
  ["discord.home_channel_name", "a\u0000b", "control character"],
  ["slack.app_token", "xoxb-1234567890", "xapp-"],
  ["slack.bot_token", "xoxb-1234567890-abc,xapp-planted-one", "starts with xoxb-"],
  ["slack.allowed_users", "me", "starts with U"],
  ["whatsapp.mode", "loud", "one of bot, self-chat"],
  ["webhook.port", "80", "1024 to 65535"],
  ["webhook.port", "65536", "1024 to 65535"],
  ["webhook.port", "8650x", "1024 to 65535"],
])("%s refuses %j", (word, text, why) => {
  try {
    checkAnswer(field("channels", word), text);
  } catch (error) {
    const fault = error as Fault;
    expect(fault).toBeInstanceOf(Fault);
    expect([fault.fault, fault.data.field]).toEqual(["bad-input", word.split(".")[1]]);
    expect(fault.why.join()).toContain(why);
    expect(`${fault.message} ${fault.why} ${JSON.stringify(fault.data)}`).not.toContain("planted");
    return;
  }
  throw new Error("was taken");
});

test("an address is one", () => {
  const endpoint = field("providers", "ollama.endpoint");
  expect(checkAnswer(endpoint, "http://gpu:11434")).toBe("http://gpu:11434");
  for (const text of ["gpu:11434", "http://", "ftp://gpu", "http://a b"])
    expect(() => checkAnswer(endpoint, text), text).toThrow(/is not allowed/);
});

test("every pattern has words for people", () => {
  const all = [...Object.values(channels), ...Object.values(providers)].flatMap(({ fields }) => fields);
  expect(all.filter(({ pattern, means }) => pattern && !means).map(({ name }) => name)).toEqual([]);
});
