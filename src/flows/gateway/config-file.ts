import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { Fault } from "../../errors.js";
import type { Settings } from "./config.js";

type FromFile = Partial<Settings>;

export async function settingsIn(path: string): Promise<FromFile> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new Fault("bad-input", `${path} cannot be read`, { why: error.message, cause: error });
  });
  return settingsFrom(text, path);
}

/**
 * Settings from a YAML file:
 *
 *     port: 4141
 *     listen: 192.168.1.5
 *     tls: {cert: /etc/clm/cert.pem, key: /etc/clm/key.pem}
 *     expose_to_network: true
 *     log_bodies: false
 *     drain: 10
 *     silence: 900
 *     first_byte: 900
 *     total: 3600
 *     max_answer_bytes: 67108864
 *     max_stream_bytes: 268435456
 *     audit: {max_bytes: 67108864, keep: 20}
 */
export function settingsFrom(text: string, path: string): FromFile {
  let tree: unknown;
  try {
    tree = parse(text, { logLevel: "error" }) ?? {};
  } catch (error) {
    throw new Fault("bad-input", `${path} is not YAML`, { why: (error as Error).message.split("\n")[0] ?? "" });
  }
  const read = reader(path);
  const top = read.map(tree, "", topMembers);
  const tls = top.tls === undefined ? undefined : read.map(top.tls, "tls", ["cert", "key"]);
  const audit = top.audit === undefined ? undefined : read.map(top.audit, "audit", ["max_bytes", "keep"]);
  return {
    ...given({
      port: read.whole(top.port, "port", 0, 65_535),
      address: read.text(top.listen, "listen"),
      exposed: read.truth(top.expose_to_network, "expose_to_network"),
      logBodies: read.truth(top.log_bodies, "log_bodies"),
      drain: read.whole(top.drain, "drain", 0, 3600),
      silence: read.whole(top.silence, "silence", 1, 86_400),
      firstByte: read.whole(top.first_byte, "first_byte", 1, 86_400),
      total: read.whole(top.total, "total", 1, 604_800),
      answerBytes: read.whole(top.max_answer_bytes, "max_answer_bytes", 4096, 2 ** 30),
      streamBytes: read.whole(top.max_stream_bytes, "max_stream_bytes", 4096, 2 ** 40),
    }),
    ...(tls && {
      tls: { cert: read.text(tls.cert, "tls.cert", true) ?? "", key: read.text(tls.key, "tls.key", true) ?? "" },
    }),
    ...(audit && {
      audit: given({
        maxBytes: read.whole(audit.max_bytes, "audit.max_bytes", 4096, 2 ** 40),
        keep: read.whole(audit.keep, "audit.keep", 1, 1_000_000),
      }),
    }),
  };
}

const topMembers = [
  ...["port", "listen", "tls", "expose_to_network", "log_bodies", "drain", "silence", "first_byte", "total"],
  ...["max_answer_bytes", "max_stream_bytes", "audit"],
];

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

const given = <T extends object>(values: T): Given<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;

/** Checks members, and names a wrong one by its path. */
function reader(path: string) {
  const wrong = (where: string, should: string) =>
    new Fault("bad-input", `${where} in ${path} is invalid`, { why: should, data: { path, member: where } });
  return {
    map(value: unknown, where: string, known: string[]): Record<string, unknown> {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw wrong(where || "the top level", `it should be a map with ${known.join(", ")}`);
      }
      const odd = Object.keys(value).find((name) => !known.includes(name));
      if (odd !== undefined) throw wrong(where ? `${where}.${odd}` : odd, `the known members are ${known.join(", ")}`);
      return value as Record<string, unknown>;
    },
    text(value: unknown, where: string, must = false): string | undefined {
      if (value === undefined && !must) return undefined;
      if (typeof value === "string" && value !== "") return value;
      throw wrong(where, "it should be a string");
    },
    truth(value: unknown, where: string): boolean | undefined {
      if (value === undefined || typeof value === "boolean") return value;
      throw wrong(where, "it should be true or false");
    },
    whole(value: unknown, where: string, min: number, max: number): number | undefined {
      if (value === undefined) return undefined;
      if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
      throw wrong(where, `it should be a whole number from ${min} to ${max}`);
    },
  };
}
