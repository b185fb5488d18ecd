import type { ToolTarget } from "../../../flows/gateway/environment.js";
import { quote } from "../../../quote.js";

export const tools = ["codex", "aider", "cline", "curl", "python", "node", "shell"] as const;
export type Tool = (typeof tools)[number];

/** The variable that the settings read the key from: none of them contains a key. */
export const keyVariable = "CLM_GATEWAY_KEY";

export interface ToolSettings {
  tool: Tool;
  /** Where they go: a file, a window, a shell. */
  where: string;
  text: string;
}

/** JSON's quoting is also TOML's, YAML's, Python's and JavaScript's for the names that `modelFrom` accepts. */
const text = (value: string): string => JSON.stringify(value);

const settings: Record<Tool, (target: ToolTarget) => Omit<ToolSettings, "tool">[]> = {
  // The file in ~, because a project's own cannot choose a provider; Codex accepts no wire_api but `responses`.
  codex: ({ base, model }) => [
    {
      where: "~/.codex/config.toml (the first two lines before any [table])",
      text: `model = ${text(model)}
model_provider = "clm"

[model_providers.clm]
name = "clm gateway"
base_url = ${text(base)}
env_key = ${text(keyVariable)}
wire_api = "responses"`,
    },
  ],
  // `openai/` selects the protocol in Aider; the gateway does not see it.
  aider: ({ base, model }) => [
    {
      where: ".aider.conf.yml, in the project or in ~",
      text: `openai-api-base: ${text(base)}\nmodel: ${text(`openai/${model}`)}`,
    },
    { where: "the shell, before aider starts", text: `export OPENAI_API_KEY="$${keyVariable}"` },
  ],
  cline: ({ base, model }) => [
    {
      where: "the settings of Cline",
      text: `API Provider               OpenAI Compatible
Base URL                   ${base}
OpenAI Compatible API Key  the value of $${keyVariable}
Model ID                   ${model}`,
    },
  ],
  // printf is built into the shell: the arguments of a program can be read by every user of a machine.
  curl: ({ base, model, noProxy }) => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] });
    const proxy = noProxy ? ["--noproxy", noProxy] : [];
    const content = ["-H", "Content-Type: application/json", "-d", body];
    const words = ["curl", "-sS", ...proxy, "-H", "@-", ...content, `${base}/chat/completions`];
    const printed = `printf 'Authorization: Bearer %s\\n' "$${keyVariable}"`;
    return [{ where: "the shell", text: `${printed} | ${words.map(quote).join(" ")}` }];
  },
  python: ({ base, model }) => [
    {
      where: "Python, with the openai library",
      text: `import os
from openai import OpenAI

client = OpenAI(base_url=${text(base)}, api_key=os.environ[${text(keyVariable)}])
answer = client.chat.completions.create(
    model=${text(model)}, messages=[{"role": "user", "content": "hello"}]
)
print(answer.choices[0].message.content)`,
    },
  ],
  node: ({ base, model }) => [
    {
      where: "Node, with the openai library",
      text: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${text(base)}, apiKey: process.env.${keyVariable} });
const answer = await client.chat.completions.create({
  model: ${text(model)},
  messages: [{ role: "user", content: "hello" }],
});
console.log(answer.choices[0].message.content);`,
    },
  ],
  // Older programs read OPENAI_API_BASE, newer ones OPENAI_BASE_URL.
  shell: ({ base, model, noProxy }) => [
    {
      where: "the shell, for programs that read these variables",
      text: `export OPENAI_BASE_URL=${quote(base)}
export OPENAI_API_BASE=${quote(base)}
export OPENAI_API_KEY="$${keyVariable}"
export OPENAI_MODEL=${quote(model)}${noProxy ? `\nexport NO_PROXY="\${NO_PROXY:+$NO_PROXY,}${noProxy}"` : ""}`,
    },
  ],
};

export const settingsFor = (tool: Tool, target: ToolTarget): ToolSettings[] =>
  settings[tool](target).map((each) => ({ tool, ...each }));

export const settingsOf = (tool: Tool | "all", target: ToolTarget): ToolSettings[] =>
  (tool === "all" ? tools : [tool]).flatMap((each) => settingsFor(each, target));

export const settingsText = (all: ToolSettings[]): string =>
  all.map(({ tool, where, text }) => `# ${tool}: ${where}\n${text}\n`).join("\n");
