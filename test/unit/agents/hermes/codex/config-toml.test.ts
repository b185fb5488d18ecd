import { readFileSync } from "node:fs";
import fc from "fast-check";
import { parse as parseToml, stringify as stringifyToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { closing, opening, type Plugin } from "../../../../../src/agents/hermes/codex/block.js";
import {
  type MergedConfigToml,
  mergeConfigToml,
  removeOurs,
} from "../../../../../src/agents/hermes/codex/config-toml.js";
import type { Variables } from "../../../../../src/agents/hermes/codex/mcp-servers.js";
import { settingIn } from "../../../../../src/agents/hermes/codex/settings.js";
import { Secret } from "../../../../../src/secret.js";

const read = <T>(name: string): T[] => parse(readFileSync(`test/cases/codex/${name}.yaml`, "utf8"));

const variables = (open: Record<string, string> = {}, secret: Record<string, string> = {}): Variables =>
  new Map<string, string | Secret>([
    ...Object.entries(open),
    ...Object.entries(secret).map(([name, value]): [string, Secret] => [name, new Secret(value)]),
  ]);

const blockOf = (inside: string): string => `${opening}\n\n${inside}\n${closing}\n`;
const nothing = `${opening}\n# (no MCP servers, plugins, or permissions configured by Hermes)\n${closing}\n`;
const indented = (text: string): string => text.replace(/^/gm, "  ");

interface ServerCase {
  name: string;
  servers: string;
  open?: Record<string, string>;
  secret?: Record<string, string>;
  block?: string;
  notes?: string[];
}

describe("a server of Hermes as Codex wants it", () => {
  it.each(read<ServerCase>("servers"))("$name", ({ servers, open, secret, block, notes = [] }) => {
    const config = `mcp_servers:\n${indented(servers)}`;
    const { text, notes: told } = mergeConfigToml(undefined, {
      servers: settingIn(config, "mcp_servers"),
      variables: variables(open, secret),
      permissions: undefined,
      plugins: [],
    });
    expect(text).toBe(block === undefined ? nothing : blockOf(block));
    expect(told).toEqual(notes);
    expect(() => parseToml(text)).not.toThrow();
    for (const value of Object.values(secret ?? {})) expect(text).not.toContain(value);
  });
});

interface FileCase {
  name: string;
  before?: string;
  after: string;
  block?: string;
  plugins?: Plugin[];
  former?: string[];
  notes?: string[];
  fault?: string;
}

const usual = 'default_permissions = ":workspace"\n\n[mcp_servers.fs]\ncommand = "fs-mcp"\n';
const merged = (before: string | undefined, plugins: Plugin[] = [], former?: string[]): MergedConfigToml =>
  mergeConfigToml(before, {
    servers: settingIn("mcp_servers: { fs: { command: fs-mcp } }", "mcp_servers"),
    variables: variables(),
    permissions: ":workspace",
    plugins,
    former,
  });

describe("the block in config.toml", () => {
  it.each(read<FileCase>("files"))("$name", (each) => {
    const { before, after, block = usual, plugins, former, notes = [], fault } = each;
    if (fault !== undefined) {
      const refused = expect.objectContaining({ fault: "bad-input", message: expect.stringContaining(fault) });
      expect(() => merged(before, plugins, former)).toThrow(refused);
      return;
    }
    const { text, notes: told } = merged(before, plugins, former);
    const eol = after.includes("\r\n") ? "\r\n" : "\n";
    expect(text).toBe(after.replace("BLOCK", blockOf(block).trimEnd().replaceAll("\n", eol)));
    expect(told).toEqual(notes);
    expect(() => parseToml(text.replace(/^\ufeff/, ""))).not.toThrow();
    expect(merged(text, plugins, former).text).toBe(text);
  });
});

const everything = { server: () => true, plugin: () => true, whole: true };

/** Without line ends that are next to each other: where the block is put in or taken out, one may come or go. */
const squeezed = (text: string): string => text.replace(/(\r?\n)+/g, "\n").replace(/^\n|\n$/g, "");

describe("any file and any servers", () => {
  const word = fc.oneof(
    fc.constantFrom("fs", "hermes-tools", "a.b", "default_permissions", "mcp_servers", "", "é", "[x]", "#", '"""', "'"),
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(..."ab \"'\\[]{}=#.\n\r\t$!") }),
  );
  const leaf = fc.oneof(word, fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const server = fc.record(
    {
      command: leaf,
      url: leaf,
      args: fc.array(leaf),
      env: fc.dictionary(word, leaf),
      cwd: word,
      timeout: leaf,
      headers: fc.dictionary(word, leaf),
      enabled: fc.boolean(),
      connect_timeout: leaf,
      tools: fc.record({ include: fc.array(word), exclude: fc.array(word) }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  );
  const servers = fc.dictionary(word, fc.oneof({ weight: 5, arbitrary: server }, { weight: 1, arbitrary: leaf }));
  const plugin = fc.record({ name: word, marketplace: word, enabled: fc.boolean() });
  const plugins = fc.uniqueArray(plugin, {
    maxLength: 3,
    selector: ({ name, marketplace }) => `${name}@${marketplace}`,
  });

  const value = fc.oneof(word, fc.boolean(), fc.integer(), fc.array(word, { maxLength: 2 }));
  const name = fc.constantFrom("model", "fs", "a b", "default_permissions", "é", "x.y", "features");
  const below = fc.dictionary(name, value, { maxKeys: 3 });
  const tree = fc.record(
    {
      model: value,
      default_permissions: fc.constantFrom(":read-only", "mine"),
      notify: fc.array(word),
      features: below,
      mcp_servers: fc.dictionary(name, below),
      plugins: fc.dictionary(word, below),
    },
    { requiredKeys: [] },
  );
  const comment = fc.constantFrom("", "# mine\n", "\n# mine\n", "\n\n# mine\n\n", "# [not.a.table]\n");
  const file = fc
    .tuple(comment, tree, comment, fc.constantFrom("\n", "\r\n"))
    .map(([above, inside, under, eol]) => `${above}${stringifyToml(inside)}\n${under}`.replaceAll("\n", eol));

  it("is TOML, the same when repeated, and keeps every byte of the user's", () => {
    fc.assert(
      fc.property(servers, plugins, fc.option(file, { nil: undefined }), (hermes, natives, before) => {
        const wanted = {
          servers: settingIn(stringify({ mcp_servers: hermes }, { version: "1.1" }), "mcp_servers"),
          variables: variables({}, { KEY: "key-0123456789" }),
          permissions: ":workspace",
          plugins: natives,
        };
        const { text } = mergeConfigToml(before, wanted);
        expect(() => parseToml(text)).not.toThrow();
        expect(mergeConfigToml(text, wanted).text).toBe(text);
        expect(squeezed(removeOurs(text, everything).text ?? "")).toBe(squeezed(before?.trim() ? before : ""));
        const users = parseToml(before ?? "") as { default_permissions?: unknown };
        expect(parseToml(text)).toMatchObject({
          ...users,
          default_permissions: users.default_permissions ?? ":workspace",
        });
      }),
    );
  });

  it("keeps what Codex wrote into the block, whatever it looks like", () => {
    const lines = fc.array(
      fc.constantFrom("# x", "", "[mcp_servers.fs]", "default_permissions = 1", opening, closing, "  ", "]"),
      { maxLength: 5 },
    );
    const eol = fc.constantFrom("\n", "\r\n");
    fc.assert(
      fc.property(lines, lines, eol, (above, below, end) => {
        const [note, more] = [above, below].map((each) => `${each.join("\n")}\n`);
        const inside = `[projects.x]\nnote = '''\n${more}'''\n\n${closing}`;
        const before = merged(undefined)
          .text.replace(closing, () => inside)
          .replace(/(?<=default_permissions.*\n)/, () => `note = """\n${note}"""\n`)
          .replaceAll("\n", end);
        const { text } = merged(before);
        expect(merged(text).text).toBe(text);
        expect(parseToml(text)).toEqual({
          default_permissions: ":workspace",
          mcp_servers: { fs: { command: "fs-mcp" } },
          note: note?.replaceAll("\n", end),
          projects: { x: { note: more?.replaceAll("\n", end) } },
        });
      }),
    );
  });

  it("is parsed and written back unchanged, whatever its order", () => {
    const some = (...pieces: string[]) =>
      fc.uniqueArray(fc.constantFrom(...pieces), { maxLength: 4 }).map((all) => all.join(""));
    const root = some("a = 1\n", "# c\n", "\n", 'b = """\n# x\n[y]\n"""\n', "  c = [\n 1, # k\n 2,\n]\n");
    const tables = some(
      ...["[t]\nx = 1\n", "# d\n[u]\n", "\n", "[[l]]\nq = 1\n", `[s]\nw = """\n${opening}\n"""\n`],
      ...["  [mcp_servers.mine]\n  command = 'm'\n", "[mcp_servers.mine.env]\nA = 'b'\n"],
      ...["[mcp_servers.fs]\ncommand = 'z'\n", "[mcp_servers.fs.tools.r]\nm = 'a'\n"],
      ...["[mcp_servers.gone]\ncommand = 'g'\n", '[plugins."p@q"]\nenabled = true\n', '[plugins."p@q".z]\nk = 1\n'],
    );
    const eol = fc.constantFrom("\n", "\r\n");
    const parts = fc.record({ above: root, inRoot: root, inside: tables, below: tables, closed: fc.boolean(), eol });
    const plugged = [{ name: "p", marketplace: "q", enabled: true }];
    fc.assert(
      fc.property(parts, ({ above, inRoot, inside, below, closed, eol: end }) => {
        const block = `${opening}\n\n${inRoot}\n${inside}\n${closed ? `${closing}\n\n` : ""}`;
        const before = `${above}${block}${below}`.replaceAll("\n", end);
        fc.pre(isToml(before));
        const { text } = merged(before, plugged, ["fs", "gone"]);
        const [was, is] = [before, text].map((each) => parseToml(each) as Record<string, Record<string, unknown>>);
        expect(merged(text, plugged, ["fs", "gone"]).text).toBe(text);
        for (const key of ["a", "b", "c", "t", "u", "l", "s"]) expect(is?.[key]).toEqual(was?.[key]);
        expect(is?.mcp_servers?.mine).toEqual(was?.mcp_servers?.mine);
        if (closed) expect(toolsIn(is)).toEqual(toolsIn(was));
      }),
      { numRuns: 500 },
    );
  });
});

const toolsIn = (config: Record<string, Record<string, unknown>> | undefined): unknown =>
  (config?.mcp_servers?.fs as { tools?: unknown } | undefined)?.tools;

function isToml(text: string): boolean {
  try {
    parseToml(text);
    return true;
  } catch {
    return false;
  }
}
