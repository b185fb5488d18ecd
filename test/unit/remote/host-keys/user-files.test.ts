import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { isFault } from "../../../../src/errors.js";
import { userEntries } from "../../../../src/remote/host-keys/user-files.js";
import { keyName, scratch, withKeys } from "./cases.js";

const settings = {
  hostname: "host.example",
  port: 22,
  userKnownHostsFiles: [] as string[],
  globalKnownHostsFiles: [] as string[],
};

function file(text: string): string {
  const path = join(scratch(), "known_hosts");
  writeFileSync(path, withKeys(text));
  return path;
}

async function known(more: Partial<typeof settings> & { hostKeyAlias?: string }) {
  const { keys, revoked } = await userEntries({ ...settings, ...more });
  const names = (entries: typeof keys) => entries.map(({ blob }) => keyName(blob));
  return { keys: names(keys), revoked: names(revoked) };
}

describe("the user's files", () => {
  test("comes from all of them", async () => {
    const user = file("host.example <ed1>\nbad line\n@cert-authority * <ed2>\n");
    const global = file("host.example <rsa>\n@revoked * <ecdsa>\n");
    expect(await known({ userKnownHostsFiles: [user], globalKnownHostsFiles: [global] })).toEqual({
      keys: ["ed1", "rsa"],
      revoked: ["ecdsa"],
    });
  });

  test("is looked up by address and port, or by HostKeyAlias without the port", async () => {
    const userKnownHostsFiles = [file("host.example <ed1>\n[host.example]:2222 <ed2>\nweb <rsa>\n")];
    expect((await known({ userKnownHostsFiles })).keys).toEqual(["ed1"]);
    expect((await known({ userKnownHostsFiles, port: 2222 })).keys).toEqual(["ed2"]);
    expect((await known({ userKnownHostsFiles, port: 2222, hostKeyAlias: "Web" })).keys).toEqual(["rsa"]);
  });

  test("is nothing when they are not there", async () => {
    const gone = join(scratch(), "known_hosts");
    const underFile = join(file(""), "known_hosts");
    expect(await known({ userKnownHostsFiles: [gone, underFile, "/dev/null"] })).toEqual({
      keys: [],
      revoked: [],
    });
  });

  test("is read again when a file changed, even to the same size and time", async () => {
    const path = file("host.example <ed1>\n");
    const then = new Date(0);
    utimesSync(path, then, then);
    expect((await known({ userKnownHostsFiles: [path] })).keys).toEqual(["ed1"]);
    writeFileSync(path, withKeys("host.example <ed2>\n"));
    utimesSync(path, then, then);
    expect((await known({ userKnownHostsFiles: [path] })).keys).toEqual(["ed2"]);
  });
});

describe("a file that is there and cannot be read stops everything", () => {
  const refused = expect.toSatisfy((error) => isFault(error, "local-setup"));

  test("a directory", async () => {
    const path = join(scratch(), "known_hosts");
    mkdirSync(path);
    await expect(userEntries({ ...settings, userKnownHostsFiles: [path] })).rejects.toEqual(refused);
  });

  test("a link to itself", async () => {
    const path = join(scratch(), "known_hosts");
    symlinkSync(path, path);
    await expect(userEntries({ ...settings, globalKnownHostsFiles: [path] })).rejects.toEqual(refused);
  });

  test("a file of another user", async () => {
    const path = file("host.example <ed1>\n");
    chmodSync(join(path, ".."), 0o755);
    chmodSync(path, 0o000);
    await withoutRoot(async () => {
      await expect(userEntries({ ...settings, userKnownHostsFiles: [path] })).rejects.toEqual(refused);
    });
  });
});

/** Root can read anything, so the process becomes `nobody` for a moment. */
async function withoutRoot(work: () => Promise<void>): Promise<void> {
  const root = process.geteuid?.() === 0;
  if (root) process.seteuid?.(65534);
  try {
    await work();
  } finally {
    if (root) process.seteuid?.(0);
  }
}

describe("the user's files are never opened for writing", () => {
  const userFiles = fileURLToPath(new URL("../../../../src/remote/host-keys/user-files.ts", import.meta.url));
  const permission = process.allowedNodeEnvironmentFlags.has("--permission")
    ? "--permission"
    : "--experimental-permission";

  /** Runs code in a Node that may read everything and write nothing. */
  async function confined(code: string) {
    const script = join(scratch(), "confined.mjs");
    const contents = `
      import { userEntries } from ${JSON.stringify(userFiles)};
      import { writeFileSync } from "node:fs";
      ${code}`;
    const stdin = { contents, resolveDir: "/", loader: "ts" as const };
    await build({ stdin, outfile: script, bundle: true, platform: "node", format: "esm", target: "node20" });
    const argv = [permission, "--allow-fs-read=*", "--no-warnings", script];
    const { stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    return { stdout, stderr };
  }

  test("they are read where nothing may be written", async () => {
    const text = withKeys("host.example <ed1>\n|1|AAECAwQFBgcICQoLDA0ODxAREhM=|IZ1zV0swCfFUvwvqRtiJbYJ0/LA= <ed2>\n");
    const path = file(text);
    const about = JSON.stringify({ ...settings, userKnownHostsFiles: [path] });
    const seen = await confined(`console.log((await userEntries(${about})).keys.length)`);
    expect(seen).toEqual({ stdout: "2\n", stderr: "" });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test("and opening one for writing would have failed there", async () => {
    const { stderr } = await confined(`writeFileSync(${JSON.stringify(file(""))}, "x", { flag: "a" })`);
    expect(stderr).toContain("ERR_ACCESS_DENIED");
  });
});
