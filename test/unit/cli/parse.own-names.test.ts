import { expect, it } from "vitest";
import { hostNameFrom } from "../../../src/names.js";
import { hostStore } from "../../../src/state/hosts.js";
import { providerStore } from "../../../src/state/providers.js";
import { sampleAgent } from "../state/sample-agent.js";
import { scratchDirectories } from "../state/scratch.js";
import { clm } from "./world.js";

/** Names that every object of JavaScript's has. As a name of anything of clm's they are as unknown as any other. */
const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];

const lines: ((name: string) => string[])[] = [
  (name) => ["agent", "configure", "ada", "--channel", name],
  (name) => ["agent", "configure", "ada", "--without-channel", name],
  (name) => ["agent", "configure", "ada", "--set", `${name}.a=1`],
  (name) => ["agent", "configure", "ada", "--channel", name, "--set", `${name}.a=1`],
  (name) => ["agent", "configure", "ada", "--channel", "discord", "--set", `discord.${name}=1`],
  (name) => ["agent", "configure", "ada", "--channel", "discord", "--secret", `discord.${name}=env:X`],
  (name) => ["agent", "configure", "ada", "--secret", `discord.token=env:${name}`, "--channel", "discord"],
  (name) => ["agent", "configure", "ada", "--mcp", name],
  (name) => ["agent", "configure", "ada", "--mcp", name, "--set", `${name}.a=1`],
  (name) => ["agent", "configure", "ada", "--provider", name],
  (name) => ["agent", "configure", "ada", "--fallback", name],
  (name) => ["agent", "configure", "ada", "--auxiliary", `vision=${name}`],
  (name) => ["agent", "configure", "ada", "--stage", name],
  (name) => ["agent", "show", name],
  (name) => ["agent", "install", "--type", name, "--host", "den", "--name", "eve"],
  (name) => ["agent", "install", "--type", "hermes", "--host", name, "--name", "eve"],
  (name) => ["agent", "install", "--type", "hermes", "--host", "den", "--name", name, "--version", "2026.7.1"],
  (name) => ["agent", "install", "--type", "hermes", "--host", "den", "--name", "eve", "--version", name],
  (name) => ["agent", "secret", "set", "ada", name, "--from", "env:HOME"],
  (name) => ["agent", "memory", "read", "ada", name],
  (name) => ["agent", "logs", "ada", "--source", name],
  (name) => ["agent", "proxy", "enable", "ada", "--provider", name],
  (name) => ["host", "show", name],
  (name) => ["host", "list", "--label", `${name}=1`],
  (name) => ["provider", "show", name],
  (name) => ["provider", "add", "new", "--type", name],
  (name) => ["provider", "add", "new", "--type", "ollama", "--model", "m", "--set", `${name}=1`],
  (name) => ["provider", "add", "new", "--type", "openai", "--model", "m", "--secret", `${name}=env:HOME`],
  (name) => ["provider", "add", "new", "--type", "openai", "--model", "m", "--key-ref", `env:${name}`],
  (name) => ["provider", "update", "main", "--set", `${name}=1`],
  (name) => ["gateway", "key", "revoke", name],
  (name) => ["gateway", "env", name],
  (name) => ["chat", name, "-m", "hello"],
  (name) => ["ps", name],
  (name) => ["diff", name],
  (name) => ["handoff", "ada", name],
  (name) => ["registry", "show", name],
  (name) => ["help", name],
  (name) => [name],
  (name) => ["agent", "list", "-o", name],
];

const directory = scratchDirectories();

async function home(): Promise<string> {
  const dir = directory();
  const record = sampleAgent("ada", { provider: "main" });
  const host = {
    name: hostNameFrom("den"),
    address: "127.0.0.1",
    port: 1,
    labels: {},
    added_at: "",
    sudo: "passwordless" as const,
  };
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts: [{ ...host, agents: { ada: record } }] }));
  const provider = {
    type: "ollama",
    model: "m",
    fields: { endpoint: "http://127.0.0.1:9" },
    added_at: "",
    updated_at: "",
  };
  await providerStore(dir).update((all) => ({ ...all, providers: { main: provider } }));
  return dir;
}

it.each(lines.flatMap((line) => names.map((name) => ({ argv: line(name) }))))(
  "clm $argv is refused as any unknown name is",
  async ({ argv }) => {
    const dir = await home();
    const run = (words: string[]) => clm(words, { env: { HOME: dir, CLM_HOME: dir } });
    const unknown = argv.map((word) => names.reduce((text, name) => text.replace(name, "nonesuch"), word));
    const [odd, plain] = [await run(argv), await run(unknown)];
    expect(odd.stderr).not.toContain("CLM-9001");
    // The others are invalid as names of hosts, agents or labels, with another message.
    if (argv.join(" ").includes("constructor")) expect(odd.code).toBe(plain.code);
  },
);
