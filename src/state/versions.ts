import { isRecord } from "../text/record.js";
import { jsonErrorPosition } from "./json-error-position.js";

type Json = Record<string, unknown>;

/** What one version's content becomes in the next. Pure. */
export type Migration = (content: Json) => Json;

/** What is wrong with a file's content. It never tells the content, which may be secret. */
export class InvalidContent extends Error {}

/** The file holds a list. clm never wrote one; Clawrium keeps its hosts and its providers so. */
export class ListContent extends InvalidContent {}

/** The object a file's text stands for. */
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
  if (Array.isArray(value)) throw new ListContent("the file should hold an object, and holds a list");
  throw new InvalidContent(`the file should hold an object, and holds a ${typeof value}`);
}

/**
 * The content as version `to` has it, and the version it came from. A file without a version is version 0, where there
 * is a migration for that; content that is newer than `to` is given back as it is.
 */
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
    if (!migrate) throw new InvalidContent(`version ${from} is one this clm never wrote`);
    try {
      content = migrate(content);
    } catch {
      throw new InvalidContent(`it says version ${from}, and cannot be read as that`);
    }
  }
  return { from, content };
}
