import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { Fault } from "../../../errors.js";
import { namedByOthers } from "../../../text/own-property.js";
import { isRecord } from "../../../text/record.js";
import { parseSource, type SecretSource } from "../../secret-source.js";
import { type Changes, type Choice, noChanges, type PartAnswers } from "./changes.js";
import { choiceFrom } from "./flags.js";
import { mustBeServer, mustHoldNoSecret } from "./own-server.js";

/**
 * Answers from a YAML file:
 *
 *     provider: router
 *     model: anthropic/claude-sonnet-4.5
 *     fallbacks: [gpu, {provider: work, model: claude-opus-4}]
 *     auxiliary: {vision: gpu/llava}
 *     settings: {command: python3 bot.py, files: [bot.py]}
 *     channels:
 *       discord: {token: env:DISCORD_TOKEN, allowed_users: [123456789012345678]}
 *     mcp:
 *       atlassian: {…}
 *       mine: {server: {url: https://…}}
 *
 * Secrets are given only by their source.
 */
export async function answersIn(path: string, isSecret: SecretTest): Promise<Changes> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new Fault("bad-input", `${path} cannot be read`, { why: error.message, cause: error });
  });
  return answersFrom(text, path, isSecret);
}

export type SecretTest = (kind: "settings" | "channels" | "mcp", name: string, field: string) => boolean;

const known = ["provider", "model", "fallbacks", "auxiliary", "settings", "channels", "mcp", "port", "relaxed"];

export function answersFrom(text: string, path: string, isSecret: SecretTest): Changes {
  let tree: unknown;
  try {
    // By default the library prints lines in its warnings, and a line may hold a secret.
    // User ids have more digits than a number can hold.
    tree = parse(text, { logLevel: "error", intAsBigInt: true }) ?? {};
  } catch (error) {
    throw new Fault("bad-input", `${path} is not YAML`, { why: withoutText((error as Error).message) });
  }
  const wrong = (where: string, should: string) =>
    new Fault("bad-input", `${where} in ${path} is not valid`, { why: should });
  if (!isRecord(tree)) throw wrong("the content", "it should be a map, as provider: router");
  const odd = Object.keys(tree).find((key) => !known.includes(key));
  if (odd) throw wrong(odd, `there are ${known.join(", ")}`);

  const word = (value: unknown, where: string): string | undefined => {
    if (value === undefined || value === null) return undefined;
    if (typeof value === "string" && value !== "") return value;
    throw wrong(where, "it should be a string");
  };
  const choice = (value: unknown, where: string): Choice => {
    if (typeof value === "string") return choiceFrom(value);
    const provider = isRecord(value) ? word(value.provider, `${where}.provider`) : undefined;
    const model = isRecord(value) ? word(value.model, `${where}.model`) : undefined;
    if (!provider) throw wrong(where, "it should be PROVIDER, PROVIDER/MODEL or {provider, model}");
    return { provider, ...(model && { model }) };
  };
  const map = (value: unknown, where: string): Record<string, unknown> => {
    if (value === undefined || value === null) return {};
    if (isRecord(value)) return value;
    throw wrong(where, "it should be a map");
  };

  const part = (kind: "settings" | "channels" | "mcp", name: string, value: unknown): PartAnswers => {
    const where = name === "" ? kind : `${kind}.${name}`;
    const answers = map(value, where);
    if (kind === "mcp" && Object.hasOwn(answers, "server")) {
      if (Object.keys(answers).length > 1) throw wrong(where, "a custom server has no other fields beside server");
      const server = map(withNumbers(answers.server), `${where}.server`);
      mustHoldNoSecret(server, `${where}.server`, path);
      mustBeServer(server, `${where}.server`, path);
      return { fields: {}, secrets: {}, server };
    }
    const fields = namedByOthers<string>();
    const secrets = namedByOthers<SecretSource>();
    for (const [field, answer] of Object.entries(answers)) {
      if (isSecret(kind, name, field)) secrets[field] = sourceFrom(answer, `${where}.${field}`, path);
      else
        fields[field] = textOf(answer, () => wrong(`${where}.${field}`, "it should be a string or a list of strings"));
    }
    return { fields, secrets };
  };
  const parts = (kind: "channels" | "mcp", value: unknown): Record<string, PartAnswers> =>
    Object.fromEntries(Object.entries(map(value, kind)).map(([name, answers]) => [name, part(kind, name, answers)]));

  const { fallbacks, relaxed } = tree;
  const port = withNumbers(tree.port);
  if (fallbacks !== undefined && !Array.isArray(fallbacks)) throw wrong("fallbacks", "it should be a list");
  if (port !== undefined && port !== "auto" && !isPort(port)) throw wrong("port", "it should be a port or auto");
  if (relaxed !== undefined && typeof relaxed !== "boolean") throw wrong("relaxed", "it should be true or false");
  return {
    ...noChanges(),
    provider: word(tree.provider, "provider"),
    model: word(tree.model, "model"),
    fallbacks: fallbacks?.map((each, index) => choice(each, `fallbacks.${index}`)),
    auxiliary: Object.fromEntries(
      Object.entries(map(tree.auxiliary, "auxiliary")).map(([task, each]) => [
        task,
        each === null ? undefined : choice(each, `auxiliary.${task}`),
      ]),
    ),
    settings: part("settings", "", tree.settings),
    channels: parts("channels", tree.channels),
    mcp: parts("mcp", tree.mcp),
    port: port as Changes["port"],
    relaxed: relaxed as boolean | undefined,
  };
}

/** Removes the quoted text from a parser's message: it follows a colon or is on the next lines. */
const withoutText = (message: string): string => message.replace(/:\s.*$/s, "");

const isPort = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;

function textOf(value: unknown, wrong: () => Fault): string {
  if (Array.isArray(value)) return value.map((item) => textOf(item, wrong)).join(",");
  if (value === null) return "";
  if (["string", "boolean", "bigint"].includes(typeof value)) return String(value);
  throw wrong();
}

/** Converts bigints to numbers for JSON; those with too many digits to strings. */
function withNumbers(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value)) return value.map(withNumbers);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNumbers(each)]));
}

/** Other text may be the secret itself, and is not shown. */
function sourceFrom(value: unknown, where: string, path: string): SecretSource {
  if (typeof value === "string" && /^(env|file|cmd):/.test(value)) return parseSource(value);
  throw new Fault("bad-input", `${where} in ${path} is a secret, which must not be in a file of answers`, {
    why: "give its source: env:NAME, file:PATH or cmd:COMMAND",
  });
}
