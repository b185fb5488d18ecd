import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostStore } from "../../src/state/hosts.js";
import { clm, copyOfHome, inHost, type Result } from "./clm.js";
import { labFixture } from "./fixture.js";
import { onTerminal } from "./terminal.js";

// Memory needs only an account with Hermes' directories, so nothing is installed here.
const host = "trial-1";
const user = "mem-ada";
const mark = "0a1b2c3d";
const data = `/home/${user}/.hermes`;
const memories = `${data}/memories`;

let scratch: string;

const { home } = labFixture();
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "clm-memory-"));
  await inHost(host, `useradd -m -s /usr/sbin/nologin -c 'clm agent ${mark}' ${user} && chmod 700 /home/${user}`);
  await hostStore(home).update((fleet) => ({
    ...fleet,
    hosts: fleet.hosts.map((each) => (each.name === host ? { ...each, agents: { [user]: record() } } : each)),
  }));
});

afterAll(async () => {
  await inHost(host, `userdel -r ${user} 2>/dev/null || true`);
  await rm(scratch, { recursive: true });
});

const record = (changes = {}) => ({
  type: "hermes",
  version: "2026.7.1",
  status: "installed" as const,
  mark,
  user,
  home: `/home/${user}`,
  unit: `hermes-${user}.service`,
  port: 8642,
  onboarding: { state: "ready" as const, stages: {} },
  ...changes,
});

/** Creates Hermes' directories with these files. */
async function fresh(files: Record<string, string> = {}): Promise<void> {
  const made = Object.entries(files).map(
    ([name, text]) => `printf %s '${Buffer.from(text).toString("base64")}' | base64 -d > ${pathOf(name)}`,
  );
  await inHost(
    host,
    `rm -rf ${data} && install -d -m 0700 -o ${user} -g ${user} ${data} ${memories} && umask 077 &&
     ${[...made, `chown -R ${user}: ${data}`].join(" && ")}`,
  );
}

const pathOf = (file: string) => (file === "SOUL.md" ? `${data}/SOUL.md` : `${memories}/${file}`);

const memory = (args: string[], input = "", env: NodeJS.ProcessEnv = {}): Promise<Result> =>
  clm(["agent", "memory", ...args], { home, input, env: { VISUAL: "", EDITOR: "", ...env } });

const onHost = (file: string) => inHost(host, `cat ${pathOf(file)}`);
const rejected = async () => (await readdir(join(home, "rejected")).catch(() => [])).sort();

/** An editor that runs a shell script on the file in $1. */
async function editor(script: string): Promise<NodeJS.ProcessEnv> {
  const path = join(scratch, `my editor ${Math.random()}`);
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { EDITOR: `'${path}' --wait` };
}

describe("writing memory", () => {
  it("creates a missing file and directory, private and owned by the agent", async () => {
    await fresh();
    await inHost(host, `rmdir ${memories}`);
    const written = await memory(["write", user, "MEMORY.md"], "likes tea\n");
    expect(written).toMatchObject({ code: 0, stdout: "" });
    expect(written.stderr).toContain("next request");
    expect(await onHost("MEMORY.md")).toBe("likes tea");
    expect(await inHost(host, `cd ${memories} && stat -c '%n %U %G %a' . MEMORY.md MEMORY.md.lock && ls -A`)).toBe(
      `. ${user} ${user} 700\nMEMORY.md ${user} ${user} 600\nMEMORY.md.lock ${user} ${user} 600\nMEMORY.md\nMEMORY.md.lock\n`,
    );
  });

  it("changes nothing the second time", async () => {
    await fresh({ "USER.md": "Ada" });
    const before = await inHost(host, `stat -c '%i %Z' ${pathOf("USER.md")}`);
    const again = await memory(["write", user, "USER.md"], "Ada\n");
    expect(again).toMatchObject({ code: 0 });
    expect(again.stderr).toContain("nothing was changed");
    expect(await inHost(host, `stat -c '%i %Z' ${pathOf("USER.md")}`)).toBe(before);
  });

  it("writes SOUL.md at its own path, without a lock file", async () => {
    await fresh();
    expect(await memory(["write", user, "SOUL.md"], "You are kind.\n")).toMatchObject({ code: 0 });
    expect(await onHost("SOUL.md")).toBe("You are kind.\n");
    expect(await inHost(host, `ls -A ${data}`)).toBe("SOUL.md\nmemories\n");
  });

  it("keeps every character", async () => {
    await fresh();
    const text = "§ 🦊 e\u0301 'quotes' \"$(rm -rf /)\" `x` \\n %s\t\u0007\n§\n-n -e --";
    await writeFile(join(scratch, "text"), text);
    expect(await memory(["write", user, "MEMORY.md", "--from", join(scratch, "text")])).toMatchObject({ code: 0 });
    expect(await onHost("MEMORY.md")).toBe(text);
    expect((await memory(["read", user, "MEMORY.md"])).stdout).toBe(text);
  });

  it.each([
    ["too long", "USER.md", "🦊".repeat(1376), /exceeds character limit \(1376 > 1375 chars\)/],
    ["not text", "MEMORY.md", "a\0b", /not text/],
    ["of another name", "NOTES.md", "a", /hermes memory accepts only MEMORY.md and USER.md/],
  ])("refuses a text that is %s without calling the host", async (_, file, text, why) => {
    const away = await copyOfHome(home);
    try {
      await hostStore(away.home).update((fleet) => ({
        hosts: fleet.hosts.map((each) => ({ ...each, address: "198.18.255.254" })),
      }));
      const result = await clm(["agent", "memory", "write", user, file], { home: away.home, input: text });
      expect(result.code).toBe(2);
      expect(result.stderr).toMatch(why);
    } finally {
      await away.remove();
    }
  });

  it("waits for the holder of Hermes' lock, and then sees its changes", async () => {
    await fresh({ "MEMORY.md": "before" });
    // The agent takes the lock, and adds an entry while the writer surely waits.
    const agent = inHost(
      host,
      `setpriv --reuid ${user} --regid ${user} --clear-groups flock ${memories}/MEMORY.md.lock /bin/sh -c '
         touch ${memories}/held; sleep 6; printf "before\\n§\\nthe agent" > ${memories}/.mem_x; mv ${memories}/.mem_x ${memories}/MEMORY.md'`,
    );
    await inHost(host, `for n in $(seq 100); do [ -e ${memories}/held ] && exit 0; sleep 0.05; done; exit 1`);
    const result = await memory(["write", user, "MEMORY.md"], "from outside");
    await agent;
    expect(result.code).toBe(5);
    expect(result.stderr).toMatch(/MEMORY.md of mem-ada has changed since it was read/);
    expect(await onHost("MEMORY.md")).toBe("before\n§\nthe agent");
    expect(await inHost(host, `ls -A ${memories}`)).not.toContain(".mem_");
  });

  it("gives up when the lock is not released, and keeps the text", async () => {
    await fresh({ "MEMORY.md": "before" });
    await inHost(host, `install -m 0600 -o ${user} -g ${user} /dev/null ${memories}/MEMORY.md.lock`);
    const holder = inHost(host, `flock ${memories}/MEMORY.md.lock sleep 14`);
    await inHost(
      host,
      `for n in $(seq 100); do flock -n ${memories}/MEMORY.md.lock true || exit 0; sleep 0.05; done; exit 1`,
    );
    const result = await memory(["write", user, "MEMORY.md"], "from outside");
    await holder;
    expect(result.code).toBe(24);
    expect(result.stderr).toMatch(/did not finish within 10 s/);
    const path = /kept in (\S+)/.exec(result.stderr)?.[1] ?? "";
    expect(await readFile(path, "utf8")).toBe("from outside");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await onHost("MEMORY.md")).toBe("before");
  });

  it("overwrites only the version that a script has read", async () => {
    await fresh({ "USER.md": "Ada" });
    const [{ digest }] = JSON.parse((await memory(["info", user, "USER.md", "-o", "json"])).stdout);
    expect(await memory(["write", user, "USER.md", "--if-digest", "absent"], "Eve")).toMatchObject({ code: 5 });
    expect(await memory(["write", user, "USER.md", "--if-digest", "f".repeat(64)], "Eve")).toMatchObject({ code: 5 });
    expect(await onHost("USER.md")).toBe("Ada");
    expect(await memory(["write", user, "USER.md", "--if-digest", digest], "Ada L.")).toMatchObject({ code: 0 });
    expect(await onHost("USER.md")).toBe("Ada L.");
    expect(await memory(["write", user, "USER.md", "--if-digest", "abc"], "x")).toMatchObject({ code: 2 });
  });

  it("reports the change and makes none in a dry run", async () => {
    await fresh({ "USER.md": "Ada" });
    const result = await memory(["write", user, "USER.md", "--dry-run"], "Eve");
    expect(result.stderr).toContain("would replace USER.md of trial-1:hermes:mem-ada (3 of 1375 characters)");
    expect(await onHost("USER.md")).toBe("Ada");
  });

  it("is in the audit log without the text", async () => {
    await fresh();
    await memory(["write", user, "MEMORY.md"], "a very private thing");
    const log = await readFile(join(home, "audit.jsonl"), "utf8");
    expect(log).toContain('"agent memory write"');
    expect(log).not.toContain("private");
  });

  it("warns about text that Hermes hides from its model", async () => {
    await fresh();
    const result = await memory(["write", user, "MEMORY.md"], "ok\n§\nthe key is in ~/.ssh/id_ed25519");
    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(/warning: .*entry 2 of MEMORY.md.*~\/\.ssh/);
  });

  it("completes or leaves no trace when clm is killed", async () => {
    await fresh({ "MEMORY.md": "before" });
    for (const after of [150, 250, 350, 450]) {
      await clm(["agent", "memory", "write", user, "MEMORY.md"], {
        home,
        input: `after ${after}`,
        during: (child) => setTimeout(() => child.kill("SIGKILL"), after),
      });
      expect(await onHost("MEMORY.md")).toMatch(/^(before|after \d+)$/);
    }
    expect(await memory(["write", user, "MEMORY.md"], "at last")).toMatchObject({ code: 0 });
    expect(await inHost(host, `cat ${pathOf("MEMORY.md")}; ls -A ${memories}`)).toBe(
      "at lastMEMORY.md\nMEMORY.md.lock\n",
    );
  });
});

describe("an agent that redirects its files", () => {
  it.each([
    ["the file", `ln -s /etc/passwd ${memories}/MEMORY.md`],
    ["the lock", `ln -s /etc/passwd ${memories}/MEMORY.md.lock`],
    ["the directory", `mv ${memories} ${data}/other && ln -s other ${memories}`],
  ])("by %s gets no other file read or written", async (_, trick) => {
    await fresh();
    await inHost(host, trick);
    const before = await inHost(host, "sha256sum /etc/passwd");
    const result = await memory(["write", user, "MEMORY.md"], "root::0:0::/:/bin/sh");
    expect(result.code).toBe(16);
    expect(result.stderr).toContain("is a symbolic link");
    expect(await inHost(host, "sha256sum /etc/passwd")).toBe(before);
  });

  it("is read with its own rights only", async () => {
    await fresh();
    await inHost(host, `ln -s /etc/shadow ${memories}/USER.md`);
    const result = await memory(["show", user]);
    expect(result.code).toBe(16);
    expect(result.stdout + result.stderr).not.toContain("root:");
  });

  it("by a pipe does not block clm", async () => {
    await fresh();
    await inHost(host, `mkfifo ${memories}/MEMORY.md && chown ${user} ${memories}/MEMORY.md`);
    expect(await memory(["read", user])).toMatchObject({ code: 16 });
    expect(await memory(["write", user, "MEMORY.md"], "x")).toMatchObject({ code: 16 });
  });

  it("is refused when clm did not make the account", async () => {
    await fresh({ "USER.md": "Ada" });
    await inHost(host, `usermod -c 'Ada Lovelace' ${user}`);
    try {
      const result = await memory(["write", user, "USER.md"], "Eve");
      expect(result.code).toBe(4);
      expect(result.stderr).toContain("is not the one clm made");
      expect(await onHost("USER.md")).toBe("Ada");
    } finally {
      await inHost(host, `usermod -c 'clm agent ${mark}' ${user}`);
    }
  });
});

describe("reading memory", () => {
  it("shows all files, including missing ones", async () => {
    await fresh({ "MEMORY.md": "one\n§\ntwo", "SOUL.md": "You are kind.\n" });
    const { stdout, code } = await memory(["show", user]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "MEMORY.md: the agent's own notes (9 of 2200 characters, 2 entries)\n  one\n  §\n  two\n\n" +
        "USER.md: what it knows about its user\n  (missing)\n\n" +
        "SOUL.md: who it is (14 of 20000 characters)\n  You are kind.\n",
    );
    const [notes, person] = JSON.parse((await memory(["show", user, "-o", "json"])).stdout);
    expect(notes).toMatchObject({
      file: "MEMORY.md",
      text: "one\n§\ntwo",
      entries: 2,
      length: 9,
      mode: "0600",
      owner: user,
    });
    expect(person).toMatchObject({ file: "USER.md", exists: false, text: null, digest: "absent" });
  });

  it("reads exact bytes, and says when the file is missing", async () => {
    await fresh({ "MEMORY.md": "no newline\r\nat the end" });
    expect(await memory(["read", user])).toMatchObject({ code: 0, stdout: "no newline\r\nat the end", stderr: "" });
    const missing = await memory(["read", user, "USER.md"]);
    expect(missing).toMatchObject({ code: 4, stdout: "" });
    expect(missing.stderr).toContain("Memory file not found: USER.md");
  });

  it("shows an empty file as empty, not as missing", async () => {
    await fresh({ "USER.md": "" });
    expect((await memory(["show", user, "USER.md"])).stdout).toContain("(0 of 1375 characters, 0 entries)\n  (empty)");
  });
});

describe("editing memory", () => {
  it("gives the editor a private file of that name and writes the result back", async () => {
    await fresh({ "USER.md": "Ada" });
    const env = await editor(
      `[ "$1" = --wait ] && [ "$(cat "$2")" = Ada ] && stat -c %a "$2" > ${scratch}/mode && basename "$2" >> ${scratch}/mode && echo 'Ada L.' > "$2"`,
    );
    expect(await memory(["edit", user, "USER.md"], "", env)).toMatchObject({ code: 0 });
    expect(await onHost("USER.md")).toBe("Ada L.");
    expect(await readFile(join(scratch, "mode"), "utf8")).toBe("600\nUSER.md\n");
    expect(await readdir(join(home, "edits"))).toEqual([]);
  });

  it("creates a missing file", async () => {
    await fresh();
    const env = await editor(`echo new > "$2"`);
    expect(await memory(["edit", user], "", env)).toMatchObject({ code: 0 });
    expect(await onHost("MEMORY.md")).toBe("new");
  });

  it("changes nothing when the editor added no more than a newline", async () => {
    await fresh({ "USER.md": "Ada" });
    const result = await memory(["edit", user, "USER.md"], "", await editor(`echo >> "$2"`));
    expect(result.code).toBe(0);
    expect(result.stderr).toContain("nothing was changed");
    expect(await onHost("USER.md")).toBe("Ada");
  });

  it("does not erase everything by an emptied file, unless confirmed", async () => {
    await fresh({ "USER.md": "Ada" });
    const before = await rejected();
    const env = { EDITOR: "truncate -s 0" };
    const result = await memory(["edit", user, "USER.md"], "", env);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("there is nothing to write to USER.md")]);
    expect(result.stderr).toMatch(/confirm with --yes[\s\S]*next: clm agent memory delete mem-ada USER\.md\n/);
    expect([await onHost("USER.md"), await rejected()]).toEqual(["Ada", before]);
    expect(await memory(["edit", user, "USER.md", "--yes"], "", env)).toMatchObject({ code: 0 });
    expect(await onHost("USER.md")).toBe("");
  });

  it.each([
    ["is too long", `head -c 1376 /dev/zero | tr '\\0' x > "$2"`, 2, /exceeds character limit/, "x".repeat(1376)],
    ["comes from an editor that failed", `echo half > "$2"; exit 3`, 6, /ended with 3/, "half\n"],
    ["is no text", `printf 'a\\0b' > "$2"`, 2, /is not text/, "a\0b"],
  ])("keeps an edit that %s, and names the file", async (_, script, code, why, kept) => {
    await fresh({ "USER.md": "Ada" });
    const before = await rejected();
    const result = await memory(["edit", user, "USER.md"], "", await editor(script));
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(why);
    const [name = "", ...others] = (await rejected()).filter((each) => !before.includes(each));
    expect([name, others]).toEqual([expect.stringMatching(/^trial-1-mem-ada-USER-.*\.md$/), []]);
    expect(result.stderr).toContain(`--from ${join(home, "rejected", name)}`);
    expect(await readFile(join(home, "rejected", name), "utf8")).toBe(kept);
    expect((await stat(join(home, "rejected", name))).mode & 0o777).toBe(0o600);
    expect(await onHost("USER.md")).toBe("Ada");
  });

  it("keeps an edit when the agent wrote in the meantime, and it can be written later", async () => {
    await fresh({ "USER.md": "Ada" });
    // The agent writes in the middle of the editing.
    const write = `cd ${process.cwd()} && ${process.execPath} ${process.env.CLM_DIST ?? "dist"}/clm.js lab exec ${host} -- /bin/sh -c 'echo -n agent > ${pathOf("USER.md")}'`;
    const result = await memory(["edit", user, "USER.md"], "", await editor(`${write}; echo mine > "$2"`));
    expect(result.code).toBe(5);
    expect(result.stderr).toContain("has changed since it was read");
    expect(await onHost("USER.md")).toBe("agent");
    const again = /next: clm (agent memory write .*)/.exec(result.stderr)?.[1]?.split(" ") ?? [];
    expect(await clm(again, { home })).toMatchObject({ code: 0 });
    expect(await onHost("USER.md")).toBe("mine");
  });

  it("keeps an edit when the host became unreachable", async () => {
    await fresh({ "USER.md": "Ada" });
    const away = `sed -i 's/"address": "198[^"]*"/"address": "198.18.255.254"/' ${home}/hosts.json`;
    const record = await readFile(join(home, "hosts.json"), "utf8");
    try {
      // The connection is cut, and no new one is possible.
      const cut = `cd ${process.cwd()} && ${process.execPath} ${process.env.CLM_DIST ?? "dist"}/clm.js lab exec ${host} -- /bin/sh -c 'systemctl stop ssh.socket ssh; for p in $(pgrep -f "sshd[:-]"); do kill -9 $p; done; true'`;
      const result = await memory(["edit", user, "USER.md"], "", await editor(`${cut}; ${away}; echo mine > "$2"`));
      expect(result.code).not.toBe(0);
      const path = /kept in (\S+)/.exec(result.stderr)?.[1] ?? "";
      expect(await readFile(path, "utf8")).toBe("mine\n");
    } finally {
      await inHost(host, "systemctl start ssh.socket 2>/dev/null || systemctl start ssh; systemctl start ssh");
      await writeFile(join(home, "hosts.json"), record, { mode: 0o600 });
    }
  });

  it("needs a terminal, or an editor that needs none", async () => {
    const result = await memory(["edit", user, "USER.md"]);
    expect(result.code).toBe(6);
    expect(result.stderr).toContain("clm agent memory write mem-ada USER.md --from FILE");
  });

  it("passes the terminal to the editor, which gets Ctrl-C", async () => {
    await fresh({ "USER.md": "Ada" });
    const env = await editor(
      `trap 'caught=yes' INT; echo READY; while [ -z "$caught" ]; do sleep 0.1; done; echo caught > "$2"`,
    );
    const { code, screen } = await onTerminal(["agent", "memory", "edit", user, "USER.md"], {
      home,
      env: { VISUAL: "", ...env },
      answers: [[/READY/, "\u0003"]],
    });
    expect([code, screen]).toEqual([0, expect.stringContaining("next request")]);
    expect(await onHost("USER.md")).toBe("caught");
  });

  it("names an editor that does not exist", async () => {
    const result = await memory(["edit", user, "USER.md"], "", { EDITOR: "/nonexistent/editor -w" });
    expect(result.code).toBe(7);
    expect(result.stderr).toContain("/nonexistent/editor cannot be started");
  });
});

describe("deleting memory", () => {
  it("asks for confirmation", async () => {
    await fresh({ "USER.md": "Ada" });
    const result = await memory(["delete", user, "USER.md"]);
    expect(result.code).toBe(6);
    expect(result.stderr).toContain("Delete USER.md (1 entry, 3 characters) of trial-1:hermes:mem-ada?");
    expect(await onHost("USER.md")).toBe("Ada");
  });

  it("deletes one file or all, and says when there is none", async () => {
    await fresh({ "USER.md": "Ada", "MEMORY.md": "tea", "SOUL.md": "kind" });
    expect(await memory(["delete", user, "USER.md", "--yes"])).toMatchObject({ code: 0 });
    expect(await memory(["delete", user, "--all", "--yes"])).toMatchObject({ code: 0 });
    expect(await inHost(host, `cd ${data}; ls *.md memories/*.md 2>/dev/null || true`)).toBe("SOUL.md\n");
    expect((await memory(["delete", user, "--all", "--yes"])).stderr).toContain("nothing to delete");
  });

  it("keeps SOUL.md and files that are not memory", async () => {
    await fresh({ "SOUL.md": "kind" });
    for (const file of ["SOUL.md", "NOTES.md"]) {
      const result = await memory(["delete", user, file, "--yes"]);
      expect(result.code).toBe(2);
      expect(result.stderr).toContain("hermes memory accepts only MEMORY.md and USER.md");
    }
    expect(await memory(["delete", user])).toMatchObject({ code: 2 });
  });
});

describe("a running agent that writes its own memory", () => {
  const name = "minds";
  const where = "trial-3";
  const file = `/home/${name}/.hermes/memories/MEMORY.md`;

  beforeAll(async () => {
    const add = ["provider", "add", "echo", "--type", "ollama", "--set", "endpoint=http://127.0.0.1:4180"];
    for (const words of [
      [...add, "--model", "echo", "--no-test"],
      ["agent", "install", "--type", "hermes", "--host", where, "--name", name, "--yes"],
      ["agent", "configure", name, "--provider", "echo", "--no-test"],
    ]) {
      const { code, stderr } = await clm(words, { home });
      if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}:\n${stderr}`);
    }
  });
  afterAll(async () => {
    await clm(["agent", "remove", name, "--yes", "--no-backup"], { home });
  });

  const tell = (text: string) =>
    inHost(
      where,
      `key=$(sed -n 's/^API_SERVER_KEY=//p' /home/${name}/.hermes/.env | tr -d "\\"'")
       printf 'Authorization: Bearer %s' "$key" | curl -sf -H @- -H 'Content-Type: application/json' http://127.0.0.1:8642/v1/chat/completions \
         -d '{"model":"hermes-agent","messages":[{"role":"user","content":"${text}"}]}'`,
    );

  it("and clm keep each other's entries", async () => {
    expect(await memory(["write", name, "MEMORY.md"], "from clm\n")).toMatchObject({ code: 0 });
    await tell("remember: from the agent");
    expect((await memory(["read", name])).stdout).toBe("from clm\n§\nfrom the agent");
    expect(await memory(["edit", name], "", await editor(`sed -i 's/from clm/edited/' "$2"`))).toMatchObject({
      code: 0,
    });
    await tell("remember: once more");
    expect(await inHost(where, `cat ${file}`)).toBe("edited\n§\nfrom the agent\n§\nonce more");
  });

  it("blocks clm while it writes, and loses nothing", async () => {
    await inHost(
      where,
      `echo 'slow-memory 3' > /home/${name}/.hermes/.standin && chmod 644 /home/${name}/.hermes/.standin`,
    );
    const before = await inHost(where, `cat ${file}`);
    const told = tell("remember: slowly");
    await inHost(where, `for n in $(seq 100); do flock -n ${file}.lock true || exit 0; sleep 0.05; done; exit 1`);
    const result = await memory(["write", name, "MEMORY.md"], "all anew");
    await told;
    expect([result.code, await inHost(where, `cat ${file}`)]).toEqual([5, `${before}\n§\nslowly`]);
  });
});
