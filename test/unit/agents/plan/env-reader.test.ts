import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { dotenv, dotenvFile } from "../../../../src/agents/files/dotenv.js";
import reader from "../../../../src/agents/plan/env-reader.sh?raw";
import { isFault } from "../../../../src/errors.js";

const folder = mkdtempSync(join(tmpdir(), "clm-env-"));
const path = join(folder, ".env");
afterAll(() => rmSync(folder, { recursive: true }));

const pieces = [
  ..."'\"`\\$#=%;&|!?*~<>()[]{} \t,.:@^-_/aZ0é中🜛",
  "\\n",
  "\\'",
  '\\"',
  "\\\\",
  "$(id)",
  "%n",
  " #",
  "A=",
];
const value = fc
  .array(fc.constantFrom(...pieces), { maxLength: 12 })
  .map((some) => some.join(""))
  .filter((text) => {
    try {
      dotenv("VALUE", text);
      return true;
    } catch (error) {
      if (isFault(error, "bad-input")) return false;
      throw error;
    }
  });

function readBack(shell: string[], text: string): Record<string, string> {
  writeFileSync(path, text);
  const [program = "", ...args] = [...shell, "-c", reader, "sh", path, "env", "-0"];
  const out = execFileSync(program, args, { env: { PATH: process.env.PATH }, encoding: "utf8" });
  return Object.fromEntries(
    out
      .split("\0")
      .filter((each) => /^V\d+=/.test(each))
      .map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]),
  );
}

describe.each([[["dash"]], [["bash", "--norc"]], [["busybox", "sh"]]])("%j", (shell) => {
  it("reads every value that clm writes", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 20 }), (values) => {
        const entries = new Map(values.map((each, index) => [`V${index}`, each]));
        expect(readBack(shell, dotenvFile(entries).reveal())).toEqual(Object.fromEntries(entries));
      }),
      { numRuns: 30 },
    );
  });

  it("skips other lines, and accepts a last line without a newline", () => {
    // Names that a reader may use itself, too.
    const text = "line=1\nname=2\nvalue=3\n# V0=x\n\nV1\n1V=2\nV-2=x\nexport V3=x\n=x\nV4=last";
    expect(readBack(shell, text)).toEqual({ V4: "last" });
  });
});

it("runs nothing without its file", () => {
  const link = join(folder, "link");
  symlinkSync(join(folder, "nothing"), link);
  const { status, stdout, stderr } = spawnSync("sh", ["-c", reader, "sh", link, "echo", "ran"], { encoding: "utf8" });
  expect([status, stdout, stderr]).toEqual([78, "", `${link} cannot be read\n`]);
});
