import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { program, runProgram } from "../lab/clm.js";

/**
 * The commands a reader of these pages would type, typed. What they print differs in addresses and times, so only
 * the headings of tables are compared.
 */
const pages = [
  "README.md",
  ...["agents", "programs", "fleet", "talk", "gateway", "codex"].map((page) => `docs/${page}.md`),
];

interface Step {
  command: string;
  heading: string | undefined;
}

function stepsIn(page: string): Step[] {
  const marked = readFileSync(page, "utf8").matchAll(/<!-- docs-test: begin -->([\s\S]*?)<!-- docs-test: end -->/g);
  const lines = [...marked].flatMap(([, block = ""]) => block.split("\n"));
  return lines.flatMap((line, at) => {
    if (!line.startsWith("$ ")) return [];
    const next = lines[at + 1] ?? "";
    return [{ command: line.slice(2), heading: /^[A-Z]+ {2,}[A-Z]/.test(next) ? next : undefined }];
  });
}

describe.each(pages)("%s", (page) => {
  const folder = mkdtempSync(join(tmpdir(), "clm-docs-"));
  symlinkSync(program, join(folder, "clm"));
  symlinkSync(resolve("LICENSE"), join(folder, "LICENSE"));
  const env = {
    CLM_HOME: join(folder, "home"),
    // A lab of the user, called `lab` as in the text, must not be taken for this one.
    CLM_LAB_DIR: join(folder, "labs"),
    PATH: `${folder}:${process.env.PATH}`,
    NO_COLOR: "1",
  };
  afterAll(async () => {
    await runProgram("sh", ["-c", "clm lab down --all"], env);
    rmSync(folder, { recursive: true });
  });

  it.each(stepsIn(page))("$command", async ({ command, heading }) => {
    const { code, stdout, stderr } = await runProgram("sh", ["-c", `cd '${folder}'\n${command}`], env);
    expect([code, stderr]).toEqual([0, code === 0 ? expect.any(String) : ""]);
    if (heading) expect(stdout.split("\n")[0]?.split(/ {2,}/)).toEqual(heading.split(/ {2,}/));
  });
});
