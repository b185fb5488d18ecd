import { isRecord } from "../text/record.js";
import { jsonErrorPosition } from "./json-error-position.js";

type Json = Record<string, unknown>;

/** Converts one version's content to the next. Pure. */
export type Migration = (content: Json) => Json;

/** A file's content is invalid. The message never quotes it: it may be secret. */
export class InvalidContent extends Error {}

/** The file is a list. clm never wrote one; Clawrium's hosts and providers are lists. */
export class ListContent extends InvalidContent {}

export function parseObject(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (text.trim() === "") throw new InvalidContent("the file is empty");
    const { line, column } = jsonErrorPosition(text);
    throw new InvalidContent(`line ${line}, column ${column}: this is not JSON`);
  }
  if (isRecord(value)) return value;
  if (Array.isArray(value)) throw new ListContent("the file should contain an object, not a list");
  throw new InvalidContent(`the file should contain an object, not a ${typeof value}`);
}

/** The content in version `to`, and its original version: 0 for none, if that has a migration. Newer stays as it is. */
export function migrateTo(
  raw: Json,
  to: number,
  migrations: Record<number, Migration>,
): { from: number; content: Json } {
  const { version: said, ...rest } = raw;
  const from = said === undefined && migrations[0] ? 0 : said;
  if (typeof from !== "number" || !Number.isInteger(from) || from < 0) {
    throw new InvalidContent(said === undefined ? "version is missing" : "version should be a whole number");
  }
  let content: Json = rest;
  for (let version = from; version < to; version++) {
    const migrate = migrations[version];
    if (!migrate) throw new InvalidContent(`version ${from} is not a version of this file`);
    try {
      content = migrate(content);
    } catch {
      throw new InvalidContent(`it is not valid as version ${from}`);
    }
  }
  return { from, content };
}
