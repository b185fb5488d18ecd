import { describe, expect, it } from "vitest";
import { isFault } from "../../../src/errors.js";
import { hostNameFrom } from "../../../src/names.js";
import { type AgentChoice, selectAgents } from "../../../src/state/select-agents.js";
import { sampleAgent } from "./sample-agent.js";

const host = (name: string, labels: Record<string, string>, agents: string[], type = "hermes") => ({
  name: hostNameFrom(name),
  address: "10.0.0.7",
  labels,
  added_at: "2026",
  sudo: "root" as const,
  agents: Object.fromEntries(agents.map((agent) => [agent, sampleAgent(agent, { type })])),
});
const fleet = {
  hosts: [
    host("rack-1", { site: "home", gpu: "yes" }, ["web-a", "web-b"]),
    host("rack-2", { site: "home" }, ["web-a", "mail"]),
    host("den", { site: "den" }, ["solo"], "other"),
    host("bare", { site: "den" }, []),
  ],
};
const choice = (given: Partial<AgentChoice>): AgentChoice => ({
  words: [],
  hosts: [],
  labels: [],
  all: false,
  ...given,
});
const chosen = (given: Partial<AgentChoice>) =>
  selectAgents(fleet, choice(given)).map((agent) => `${agent.host.name}/${agent.name}`);

describe("agents are chosen by", () => {
  const web = ["rack-1/web-a", "rack-1/web-b", "rack-2/web-a"];
  it.each<[string, Partial<AgentChoice>, string[]]>([
    ["a name", { words: ["mail"] }, ["rack-2/mail"]],
    ["a name and its host", { words: ["rack-2/web-a"] }, ["rack-2/web-a"]],
    ["several, in order and once", { words: ["mail", "solo", "mail"] }, ["den/solo", "rack-2/mail"]],
    ["a pattern", { words: ["web-*"] }, web],
    ["a pattern of the host too", { words: ["rack-?/web-a"] }, ["rack-1/web-a", "rack-2/web-a"]],
    ["everything on a host", { words: ["rack-1/*"] }, ["rack-1/web-a", "rack-1/web-b"]],
    ["the host", { hosts: ["rack-*"] }, ["rack-1/web-a", "rack-1/web-b", "rack-2/mail", "rack-2/web-a"]],
    ["a label", { labels: [["gpu", "yes"]] }, ["rack-1/web-a", "rack-1/web-b"]],
    ["the type", { type: "other" }, ["den/solo"]],
    ["several of these", { words: ["web-*"], hosts: ["rack-2"], labels: [["site", "home"]] }, ["rack-2/web-a"]],
    ["all", { all: true }, ["den/solo", "rack-1/web-a", "rack-1/web-b", "rack-2/mail", "rack-2/web-a"]],
  ])("%s", (_, given, found) => expect(chosen(given)).toEqual(found));
});

describe("it is a fault when", () => {
  it.each<[string, Partial<AgentChoice>, string]>([
    ["nothing is named", {}, "no agent was named"],
    ["all is asked for and more", { all: true, words: ["mail"] }, "--all cannot be combined with names"],
    ["all is asked for on a host", { all: true, hosts: ["den"] }, "--all cannot be combined with names"],
    ["a name means several", { words: ["web-a"] }, "2 agents are called web-a"],
    ["a name means none", { words: ["mial"] }, "no agent is called 'mial'"],
    ["a pattern matches none", { words: ["mail", "x*"] }, "no agent's name matches 'x*'"],
    ["a host pattern matches none", { hosts: ["x*"] }, "no host's name matches 'x*'"],
    ["no host has the label", { labels: [["gpu", "no"]] }, "no host has the label gpu=no"],
    ["the host has none", { hosts: ["bare"] }, "no agent is on such a host"],
    ["no agent is of the type", { type: "nope" }, "no agent there is of type nope"],
    ["the name is elsewhere", { words: ["mail"], hosts: ["rack-1"] }, "rack-2/mail is not among the agents"],
  ])("%s", (_, given, told) => {
    try {
      chosen(given);
    } catch (error) {
      if (!isFault(error)) throw error;
      expect(error.message).toContain(told);
      return;
    }
    throw new Error("it chose some");
  });
});
