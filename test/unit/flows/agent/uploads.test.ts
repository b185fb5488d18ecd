import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { uploadsFor, uploadsIn, withAbsolutePaths } from "../../../../src/flows/agent/uploads.js";
import { manifest } from "../../agents/program/program-agent.js";
import { faultOf } from "../../state/scratch.js";

const folder = mkdtempSync(join(tmpdir(), "clm-uploads-"));
const here = process.cwd();
const at = (name: string): string => `${folder}/${name}`;
const put = (name: string, text = name): void => {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
};

beforeAll(() => {
  for (const name of ["bot.py", "other/bot.py", "a=b.py", "lib/one.py", "lib/deep/two.py", "linked/real.py"]) put(name);
  put("run", "#!/bin/sh\n");
  chmodSync(at("run"), 0o755);
  symlinkSync("../bot.py", at("linked/link.py"));
  mkdirSync(at("loop"));
  symlinkSync(".", at("loop/again"));
  mkdirSync(at("empty"));
  mkdirSync(at("pipes"));
  execFileSync("mkfifo", [at("pipes/fifo")]);
  mkdirSync(at("dangling"));
  symlinkSync("nowhere", at("dangling/link"));
  mkdirSync(at("many"));
  for (let count = 0; count < 501; count++) writeFileSync(at(`many/${count}`), "");
  for (const name of ["large", "largest"]) writeFileSync(at(name), "");
  truncateSync(at("large"), 16 * 1024 * 1024);
  truncateSync(at("largest"), 16 * 1024 * 1024 + 1);
  writeFileSync(at("one-byte"), "x");
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("a list of files", () => {
  it.each<[string, { path: string; name: string }[]]>([
    ["", []],
    ["bot.py", [{ path: "bot.py", name: "bot.py" }]],
    ["src/bot.py", [{ path: "src/bot.py", name: "bot.py" }]],
    ["lib/", [{ path: "lib/", name: "lib" }]],
    ["lib=vendor/lib", [{ path: "lib", name: "vendor/lib" }]],
    ["a=b.py=b.py", [{ path: "a=b.py", name: "b.py" }]],
    [
      "bot.py,lib=x",
      [
        { path: "bot.py", name: "bot.py" },
        { path: "lib", name: "x" },
      ],
    ],
  ])("%j", (text, expected) => {
    expect(uploadsIn(text)).toEqual(expected);
  });

  it.each([
    ["bot.py", `${here}/bot.py`],
    ["src/bot.py,lib=vendor/lib", `${here}/src/bot.py,${here}/lib=vendor/lib`],
    ["lib/", `${here}/lib`],
    [".", `${here}=.`],
    ["bot.py=bot.py", `${here}/bot.py`],
    ["a=b.py=b.py", `${here}/a=b.py=b.py`],
    ["a=b.py=a", `${here}/a=b.py=a`],
  ])("is kept with absolute paths: %s", (text, expected) => {
    expect(withAbsolutePaths(text)).toBe(expected);
    // Already so.
    expect(withAbsolutePaths(expected)).toBe(expected);
    expect(uploadsIn(expected).map(({ name }) => basename(name))).toEqual(
      uploadsIn(text).map(({ name }) => basename(name)),
    );
  });
});

const uploads = (files: string) => uploadsFor(manifest.settings, { files });

describe("the files of a list", () => {
  it.each<[string, string, string[]]>([
    ["none", "", []],
    ["a file", "bot.py", ["bot.py"]],
    ["a file with another name", "bot.py=src/main.py", ["src/main.py"]],
    ["a name with steps that lead nowhere", "bot.py=./src//main.py", ["src/main.py"]],
    ["a directory with everything below it", "lib", ["lib/deep/two.py", "lib/one.py"]],
    ["a directory with another name", "lib=vendor", ["vendor/deep/two.py", "vendor/one.py"]],
    ["the content of a directory", "lib=.", ["deep/two.py", "one.py"]],
    ["an empty directory", "empty", []],
    ["a link to a file, with its content", "linked", ["linked/link.py", "linked/real.py"]],
    ["two files of one name at two places", "bot.py,other/bot.py=other.py", ["bot.py", "other.py"]],
    ["as many bytes as there may be", "large", ["large"]],
  ])("%s", async (_about, list, names) => {
    const text = list.split(",").map((each) => (each === "" ? "" : at(each)));
    expect((await uploads(text.join(","))).map(({ name }) => name)).toEqual(names);
  });

  it("have their content, and whether they can be run", async () => {
    const [bot, run, link] = await uploads([at("bot.py"), at("run"), at("linked/link.py")].join(","));
    expect(bot).toEqual({ name: "bot.py", content: Buffer.from("bot.py"), executable: false });
    expect(run).toEqual({ name: "run", content: Buffer.from("#!/bin/sh\n"), executable: true });
    expect(link).toEqual({ name: "link.py", content: Buffer.from("bot.py"), executable: false });
  });

  it.each([
    ["a file that is not there", "nothing.py", "nothing.py cannot be read"],
    ["a link that leads nowhere", "dangling", "dangling/link cannot be read"],
    ["a link to a directory", "loop", "loop/again is a link to a directory"],
    ["what is neither file nor directory", "pipes", "pipes/fifo is neither a file nor a directory"],
    ["a name outside the directory", "bot.py=../bot.py", "'../bot.py' is not a name for a file on the host"],
    ["a name that leaves it on the way", "bot.py=a/../../bot.py", "is not a name for a file on the host"],
    ["an absolute name", "bot.py=/etc/passwd", "'/etc/passwd' is not a name for a file on the host"],
    ["no name", "bot.py=", "'' is not a name for a file on the host"],
    ["the directory itself as a file's name", "bot.py=.", "'.' is not a name for a file on the host"],
    ["two files of one name", "bot.py,other/bot.py", "two files would be called bot.py on the host"],
    ["two spellings of one name", "bot.py=a/b,other/bot.py=a//b", "two files would be called a/b on the host"],
    ["a file where a directory is needed", "bot.py=lib,lib", "lib would be a file and a directory on the host"],
    ["more files than there may be", "many", "is over the limit for uploads"],
    ["more bytes than there may be", "largest", "largest is over the limit for uploads"],
    ["more bytes in all than there may be", "large,one-byte", "one-byte is over the limit for uploads"],
  ])("refuse %s", async (_about, list, message) => {
    const fault = await faultOf(() => uploads(list.split(",").map(at).join(",")));
    expect(fault.fault).toBe("bad-input");
    expect(fault.message).toContain(message);
  });

  it("are read only of settings that name files", async () => {
    expect(await uploadsFor(manifest.settings, { command: at("bot.py"), health_path: "/bot.py" })).toEqual([]);
  });
});
