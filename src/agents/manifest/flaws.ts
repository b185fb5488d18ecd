import { namesIn } from "../files/template.js";
import { isAgentCheck } from "./agent-checks.js";
import type { Field, Manifest } from "./manifest.js";

export interface Flaw {
  /** As `providers.openai.render.0.when`. */
  path: string;
  reason: string;
}

/** Beyond the schema: an unknown field in a template would drop it silently, a secret in config.yaml be exposed. */
export function flawsIn(manifest: Manifest): Flaw[] {
  return [
    ...versionFlaws(manifest),
    ...Object.entries(manifest.providers).flatMap(([name, { fields, render, test }]) => {
      const at = `providers.${name}`;
      const known = { env: [...fieldNames(fields), "model"], config: [...plainNames(fields), "model"] };
      return [
        ...fieldFlaws(fields, `${at}.fields`),
        ...render.flatMap((part, index) => [
          ...listFlaws(part.given, fieldNames(fields), `${at}.render.${index}.given`),
          ...templateFlaws(part.env, known.env, `${at}.render.${index}.env`),
          ...templateFlaws(part.config, known.config, `${at}.render.${index}.config`),
        ]),
        ...templateFlaws(test, fieldNames(fields), `${at}.test`),
      ];
    }),
    ...aliasFlaws(manifest),
    ...Object.entries(manifest.channels).flatMap(([name, { fields, allow, env, config, test }]) => {
      const at = `channels.${name}`;
      return [
        ...fieldFlaws(fields, `${at}.fields`),
        ...bindFlaws(fields, `${at}.fields`),
        ...listFlaws(allow, fieldNames(fields), `${at}.allow`),
        ...templateFlaws({ env, config }, plainNames(fields), at),
        ...templateFlaws(test, fieldNames(fields), `${at}.test`),
      ];
    }),
    ...Object.entries(manifest.mcp).flatMap(([name, { fields, server }]) => [
      ...fieldFlaws(fields, `mcp.${name}.fields`),
      ...templateFlaws(server, [...plainNames(fields), ...pathNames], `mcp.${name}.server`),
    ]),
    ...templatesIn(manifest).flatMap(([path, value, known]) => templateFlaws(value, known, path)),
    ...causeFlaws(manifest),
  ];
}

/** The templates of the manifest itself, with the values that they may name. */
const templatesIn = (manifest: Manifest): [path: string, value: unknown, known: string[]][] => [
  ["render", manifest.render.map(({ env }) => env), ["port", "api_key", "provider"]],
  ["render", manifest.render.map(({ config }) => config), ["port", "provider"]],
  ["paths", manifest.paths, ["user", ...pathNames]],
  ["install.arguments", manifest.install?.arguments.map(({ args }) => args), ["version", "commit", ...pathNames]],
  ["version.line", manifest.version?.line, ["reports", "version"]],
  ["version.file", manifest.version?.file, pathNames],
  ["backup.bundled", manifest.backup.bundled, pathNames],
  ["unit.name", manifest.unit.name, ["name"]],
  ["dashboard.args", manifest.dashboard?.args, ["port"]],
  ["proxy.unit", manifest.proxy?.unit, ["name"]],
  ["proxy.args", manifest.proxy?.args, ["provider", "port"]],
  ["memory", Object.values(manifest.memory).map(({ path }) => path), pathNames],
  ["causes", manifest.causes.map(({ next }) => next), ["name", "host", "port"]],
];

const pathNames = ["home", "data", "code", "env", "config", "memories", "launcher"];
const fieldNames = (fields: Field[]): string[] => fields.map(({ name }) => name);
const plainNames = (fields: Field[]): string[] => fieldNames(fields.filter(({ secret }) => !secret));

function versionFlaws({ default: chosen, default_by_label, versions, install }: Manifest): Flaw[] {
  const byLabel = Object.entries(default_by_label).map(([label, version]) => [`default_by_label.${label}`, version]);
  const unknown = [["default", chosen], ...byLabel].flatMap(([path = "", version = ""]) =>
    Object.hasOwn(versions, version) ? [] : [{ path, reason: `${version} is not one of the versions` }],
  );
  const unpinned = Object.entries(versions)
    .filter(([, { installer }]) => install && !installer)
    .map(([version]) => ({ path: `versions.${version}.installer`, reason: "is missing: expected object" }));
  return [...unknown, ...unpinned];
}

function fieldFlaws(fields: Field[], at: string): Flaw[] {
  return fields.flatMap(({ name, flag, list, choices, pattern, listens, required, default: otherwise }, index) => {
    const path = `${at}.${index}`;
    if (fieldNames(fields).indexOf(name) < index) return [{ path, reason: `there are two fields called ${name}` }];
    if (name === "model") return [{ path, reason: "every provider has a model, so it cannot be a field" }];
    if (flag && (list || choices || pattern)) return [{ path, reason: "a flag takes no list, choices or pattern" }];
    if (listens && (flag || list)) return [{ path, reason: "a port to listen on is one number" }];
    if (listens && !required && otherwise === undefined)
      return [{ path, reason: "a port to listen on needs a default or required: true" }];
    return [];
  });
}

/** A channel that listens needs a field for its address. */
function bindFlaws(fields: Field[], path: string): Flaw[] {
  const address = fields.filter(({ binds }) => binds);
  if (address.length > 1) return [{ path, reason: "only one field can be the address a channel listens on" }];
  const [only] = address;
  if (only && !only.required && only.default === undefined)
    return [{ path, reason: "the address to listen on needs a default or required: true" }];
  if (only || !fields.some(({ listens }) => listens)) return [];
  return [{ path, reason: "a channel with a port to listen on needs a field for the address, with binds" }];
}

function aliasFlaws({ providers }: Manifest): Flaw[] {
  const taken = new Map(Object.keys(providers).map((name) => [name, name]));
  return Object.entries(providers).flatMap(([name, { aliases }]) =>
    aliases.flatMap((alias) => {
      const other = taken.get(alias);
      taken.set(alias, name);
      return other ? [{ path: `providers.${name}.aliases`, reason: `${alias} is already used by ${other}` }] : [];
    }),
  );
}

function causeFlaws({ causes, channels }: Manifest): Flaw[] {
  const ids = causes.map(({ id }) => id);
  return causes.flatMap(({ id, checks = [] }, index) => [
    ...(ids.indexOf(id) < index ? [{ path: `causes.${index}.id`, reason: `there are two causes called ${id}` }] : []),
    ...checks
      .filter((check) => !isAgentCheck(check, Object.keys(channels)))
      .map((check) => ({ path: `causes.${index}.checks`, reason: `the doctor has no check called ${check}` })),
  ]);
}

const listFlaws = (names: string[], known: string[], path: string): Flaw[] =>
  names.filter((name) => !known.includes(name)).map((name) => ({ path, reason: `no field is called ${name}` }));

function templateFlaws(value: unknown, known: string[], path: string): Flaw[] {
  if (typeof value === "string") {
    try {
      return namesIn(value)
        .filter((name) => !known.includes(name))
        .map((name) => ({ path, reason: `{{${name}}} is none of ${known.join(", ") || "nothing"}` }));
    } catch (error) {
      return [{ path, reason: `'${value}' is not a template: ${(error as Error).message.split("\n", 1)[0]}` }];
    }
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => templateFlaws(below, known, `${path}.${key}`));
}
