import { Fault } from "../../../errors.js";
import { quote } from "../../../quote.js";
import type { Tool } from "../defaults.js";

/** The variable that the settings read the key from: none of them holds a key. */
export const keyVariable = "CLM_GATEWAY_KEY";

export interface ToolSettings {
  tool: Tool;
  /** Where they go: a file, a window, a shell. */
  where: string;
  text: string;
}

export interface ToolTarget {
  /** With `/v1`. */
  base: string;
  model: string;
  /** Programs here send to a proxy, which must not hear of what is on this machine. */
  noProxy?: string | undefined;
}

/** A model's name as tools may be given it; then JSON's way to quote is also TOML's, YAML's, Python's and JavaScript's. */
export function modelFrom(text: string): string {
  if (/^[\x21-\x7e]{1,256}$/.test(text)) return text;
  throw new Fault("bad-input", "that cannot be a model's name", {
    why: "it is at most 256 letters, digits and signs, without spaces",
    flag: "--model",
  });
}

const text = (value: string): string => JSON.stringify(value);
const lines = (...all: (string | false)[]): string => all.filter((line) => line !== false).join("\n");

const settings: Record<Tool, (reached: ToolTarget) => Omit<ToolSettings, "tool">[]> = {
  // The file in ~ because a project's own cannot choose a provider; Codex takes no other wire_api than `responses` any more.
  codex: ({ base, model }) => [
    {
      where: "~/.codex/config.toml (the first two lines before any [table])",
      text: lines(
        `model = ${text(model)}`,
        'model_provider = "clm"',
        "",
        "[model_providers.clm]",
        'name = "clm gateway"',
        `base_url = ${text(base)}`,
        `env_key = ${text(keyVariable)}`,
        'wire_api = "responses"',
      ),
    },
  ],
  // `openai/` says to Aider which protocol to speak; the gateway does not see it.
  aider: ({ base, model }) => [
    {
      where: ".aider.conf.yml, in the project or in ~",
      text: lines(`openai-api-base: ${text(base)}`, `model: ${text(`openai/${model}`)}`),
    },
    { where: "the shell, before aider starts", text: `export OPENAI_API_KEY="$${keyVariable}"` },
  ],
  cline: ({ base, model }) => [
    {
      where: "the settings of Cline",
      text: lines(
        "API Provider               OpenAI Compatible",
        `Base URL                   ${base}`,
        `OpenAI Compatible API Key  what is in $${keyVariable}`,
        `Model ID                   ${model}`,
      ),
    },
  ],
  // printf is the shell's own: a program's arguments can be read by every user of a machine.
  curl: ({ base, model, noProxy }) => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] });
    const words = [
      ...["curl", "-sS", ...(noProxy ? ["--noproxy", noProxy] : []), "-H", "@-"],
      ...["-H", "Content-Type: application/json", "-d", body, `${base}/chat/completions`],
    ];
    return [
      {
        where: "the shell",
        text: `printf 'Authorization: Bearer %s\\n' "$${keyVariable}" | ${words.map(quote).join(" ")}`,
      },
    ];
  },
  python: ({ base, model }) => [
    {
      where: "Python, with the openai library",
      text: lines(
        "import os",
        "from openai import OpenAI",
        "",
        `client = OpenAI(base_url=${text(base)}, api_key=os.environ[${text(keyVariable)}])`,
        "answer = client.chat.completions.create(",
        `    model=${text(model)}, messages=[{"role": "user", "content": "hello"}]`,
        ")",
        "print(answer.choices[0].message.content)",
      ),
    },
  ],
  node: ({ base, model }) => [
    {
      where: "Node, with the openai library",
      text: lines(
        'import OpenAI from "openai";',
        "",
        `const client = new OpenAI({ baseURL: ${text(base)}, apiKey: process.env.${keyVariable} });`,
        "const answer = await client.chat.completions.create({",
        `  model: ${text(model)},`,
        '  messages: [{ role: "user", content: "hello" }],',
        "});",
        "console.log(answer.choices[0].message.content);",
      ),
    },
  ],
  // Older programs read OPENAI_API_BASE, newer ones OPENAI_BASE_URL.
  shell: ({ base, model, noProxy }) => [
    {
      where: "the shell, for whatever reads these",
      text: lines(
        `export OPENAI_BASE_URL=${quote(base)}`,
        `export OPENAI_API_BASE=${quote(base)}`,
        `export OPENAI_API_KEY="$${keyVariable}"`,
        `export OPENAI_MODEL=${quote(model)}`,
        noProxy !== undefined && `export NO_PROXY="\${NO_PROXY:+$NO_PROXY,}${noProxy}"`,
      ),
    },
  ],
};

/** What to put where, so that a tool reaches a model through the gateway. */
export const settingsFor = (tool: Tool, reached: ToolTarget): ToolSettings[] =>
  settings[tool](reached).map((each) => ({ tool, ...each }));

/** The host to leave out of a proxy, when programs here send to one and the gateway is on this machine. */
export function noProxyHost(base: URL, env: NodeJS.ProcessEnv): string | undefined {
  const proxied = Object.entries(env).some(([name, value]) => /^(http|all)_proxy$/i.test(name) && value);
  return proxied && base.protocol === "http:" ? base.hostname : undefined;
}
