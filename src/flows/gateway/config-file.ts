import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import * as z from "zod";
import { Fault } from "../../errors.js";
import { defined } from "../../text/defined.js";
import type { Settings } from "./config.js";

const whole = (min: number, max: number) =>
  z.int(`it should be a whole number from ${min} to ${max}`).min(min).max(max).optional();
const text = z.string("it should be a string").min(1);
const flag = z.boolean("it should be true or false").optional();

/** The members of the file, with times in seconds. */
const schema = z.strictObject({
  port: whole(0, 65_535),
  listen: text.optional(),
  tls: z.strictObject({ cert: text, key: text }).optional(),
  expose_to_network: flag,
  log_bodies: flag,
  drain: whole(0, 3600),
  silence: whole(1, 86_400),
  first_byte: whole(1, 86_400),
  total: whole(1, 604_800),
  max_answer_bytes: whole(4096, 2 ** 30),
  max_stream_bytes: whole(4096, 2 ** 40),
  audit: z.strictObject({ max_bytes: whole(4096, 2 ** 40), keep: whole(1, 1_000_000) }).optional(),
});

export async function settingsIn(path: string): Promise<Partial<Settings>> {
  const content = await readFile(path, "utf8").catch((error: Error) => {
    throw new Fault("bad-input", `${path} cannot be read`, { why: error.message, cause: error });
  });
  return settingsFrom(content, path);
}

export function settingsFrom(content: string, path: string): Partial<Settings> {
  const { data, error } = schema.safeParse(treeIn(content, path));
  // An unknown member first: it may be a misspelled one that is missing elsewhere.
  if (error) throw invalid(error.issues.find(({ code }) => code === "unrecognized_keys") ?? error.issues[0], path);
  const { audit } = data;
  return defined({
    port: data.port,
    address: data.listen,
    tls: data.tls,
    exposed: data.expose_to_network,
    logBodies: data.log_bodies,
    drain: data.drain,
    silence: data.silence,
    firstByte: data.first_byte,
    total: data.total,
    answerBytes: data.max_answer_bytes,
    streamBytes: data.max_stream_bytes,
    audit: audit && defined({ maxBytes: audit.max_bytes, keep: audit.keep }),
  });
}

function treeIn(content: string, path: string): unknown {
  try {
    return parse(content, { logLevel: "error" }) ?? {};
  } catch (error) {
    throw new Fault("bad-input", `${path} is not YAML`, { why: (error as Error).message.split("\n")[0] ?? "" });
  }
}

function invalid(issue: z.core.$ZodIssue | undefined, path: string): Fault {
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const member = [...(issue?.path ?? []), ...unknown].join(".") || "the top level";
  return new Fault("bad-input", `${member} in ${path} is invalid`, {
    why: issue?.message ?? "",
    data: { path, member },
  });
}
