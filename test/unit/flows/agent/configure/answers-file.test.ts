import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { answersFrom } from "../../../../../src/flows/agent/configure/answers-file.js";
import { changesFrom, type Flags } from "../../../../../src/flows/agent/configure/flags.js";

interface FileCase {
  about: string;
  text: string;
  gives?: object;
  refused?: string;
  /** Must not be in any message. */
  hides?: string;
}

interface FlagCase {
  about: string;
  flags: Partial<Flags>;
  on?: { channels: string[]; mcp: string[] };
  gives?: object;
  refused?: string;
  hides?: string;
}

const read = <T>(file: string): T[] => parse(readFileSync(`test/cases/answers/${file}.yaml`, "utf8"));

const isSecret = (_kind: string, _name: string, field: string) => field === "token";

function refusal(work: () => unknown): { text: string } {
  try {
    work();
  } catch (error) {
    const { message, why } = error as { message: string; why: string[] };
    return { text: [message, ...why].join("\n") };
  }
  return { text: "it was taken" };
}

describe("a file of answers", () => {
  it.each(read<FileCase>("file").map((each) => [each.about, each] as const))("%s", (_about, each) => {
    const work = () => answersFrom(each.text, "answers.yaml", isSecret);
    if (each.gives) expect(work()).toMatchObject(each.gives);
    if (each.refused) expect(refusal(work).text).toContain(each.refused);
    if (each.hides) expect(refusal(work).text).not.toContain(each.hides);
  });
});

interface ServerCase {
  /** Where the secret stands, or `none`. */
  tells: string;
  server: Record<string, unknown>;
}

describe("the user's own server", () => {
  const servers = read<ServerCase>("own-server").map(
    (each) => [each.tells, JSON.stringify(each.server), each] as const,
  );
  it.each(servers)("reports in %s: %s", (tells, _text, { server }) => {
    const text = stringify({ mcp: { mine: { server } } });
    const work = () => answersFrom(text, "answers.yaml", isSecret);
    if (tells === "none") {
      expect(work().mcp.mine?.server).toEqual(server);
      return;
    }
    const said = refusal(work).text;
    expect(said).toContain(`mcp.mine.server.${tells} in answers.yaml looks like a secret`);
    expect(said).toContain(`clm agent secret set AGENT NAME, and write \${NAME} there`);
    expect(said).not.toMatch(/PLANTED|123456/);
  });
});

const none: Flags = {
  fallback: [],
  auxiliary: [],
  channel: [],
  withoutChannel: [],
  mcp: [],
  withoutMcp: [],
  set: [],
  secret: [],
};

describe("flags", () => {
  it.each(read<FlagCase>("flags").map((each) => [each.about, each] as const))("%s", (_about, each) => {
    const work = () => changesFrom({ ...none, ...each.flags }, each.on ?? { channels: [], mcp: [] });
    if (each.gives) expect(work()).toMatchObject(each.gives);
    if (each.refused) expect(refusal(work).text).toContain(each.refused);
    if (each.hides) expect(refusal(work).text).not.toContain(each.hides);
  });
});

it("flags are laid over the settings of a file", () => {
  const file = answersFrom("settings: {command: old, health: tcp, token: env:A}", "answers.yaml", isSecret);
  const { settings } = changesFrom({ ...none, set: ["command=new"] }, { channels: [], mcp: [] }, file);
  expect(settings).toEqual({
    fields: { command: "new", health: "tcp" },
    secrets: { token: { kind: "env", name: "A" } },
  });
  expect(file.settings.fields).toEqual({ command: "old", health: "tcp" });
});
