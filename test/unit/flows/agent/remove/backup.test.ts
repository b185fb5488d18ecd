import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { pathsFor } from "../../../../../src/agents/plan/resolved-agent.js";
import { backupRequest, receive } from "../../../../../src/flows/agent/remove/backup.js";
import script from "../../../../../src/flows/agent/remove/backup.py?raw";
import type { Process } from "../../../../../src/remote/process.js";
import { scratchDirectories } from "../../../state/scratch.js";

const scratch = scratchDirectories();
const { manifest } = await loadType("/nonexistent", "hermes");

/** A home with these files, and the content of its backup. */
function homeWith(files: Record<string, string>) {
  const home = scratch();
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  return {
    home,
    put,
    backUp(bytes = 1e9) {
      const wanted = JSON.stringify(backupRequest(manifest, pathsFor(manifest, "ada", home), { bytes }));
      const { status, stdout, stderr } = spawnSync("python3", ["-I", "-", wanted], { input: script, timeout: 60_000 });
      const list = () => execFileSync("tar", ["-tz"], { input: stdout, encoding: "utf8" }).trim().split("\n");
      const read = (name: string) => execFileSync("tar", ["-xzO", name], { input: stdout });
      return { status, stderr: stderr.toString(), names: status === 0 ? list().sort() : [], read };
    },
  };
}

const skill = (name: string, text: string) => `---\nname: ${name}\n---\n${text}\n`;
const digestOf = (files: Record<string, string>) => {
  const digest = createHash("md5");
  for (const [name, text] of Object.entries(files)) digest.update(name).update(text);
  return digest.digest("hex");
};

describe("a backup", () => {
  it("has the skills that the agent wrote or changed, and not those that are as they came", () => {
    const bundled = { "SKILL.md": skill("pdf", "as it came"), "scripts/run.py": "print(1)\n" };
    const changed = { "SKILL.md": skill("web", "as it came") };
    const { backUp } = homeWith({
      ".hermes/skills/.bundled_manifest": `pdf:${digestOf(bundled)}\nweb:${digestOf(changed)}\nold-format\n`,
      ".hermes/skills/docs/pdf/SKILL.md": bundled["SKILL.md"],
      ".hermes/skills/docs/pdf/scripts/run.py": bundled["scripts/run.py"],
      ".hermes/skills/docs/web/SKILL.md": skill("web", "better now"),
      ".hermes/skills/own/haiku/SKILL.md": skill("haiku", "three lines"),
      ".hermes/skills/own/haiku/reference/forms.md": "5-7-5\n",
    });
    const { names, read } = backUp();
    expect(names).toEqual([
      "skills/docs/web/SKILL.md",
      "skills/own/haiku/SKILL.md",
      "skills/own/haiku/reference/forms.md",
    ]);
    expect(read("skills/own/haiku/SKILL.md").toString()).toContain("three lines");
  });

  it("has everything else that was made, and nothing that is a program, a cache or a secret", () => {
    const made = [
      ...["SOUL.md", "config.yaml", "active_profile", "channel_directory.json", "cron/jobs.json", "cron/output/a.md"],
      ...["hooks/greet/HOOK.yaml", "memories/MEMORY.md", "memories/USER.md.bak.1", "pairing/telegram.json"],
      ...[
        "sessions/session_1.json",
        "sessions/sessions.json",
        "profiles/work/SOUL.md",
        "profiles/work/skills/x/SKILL.md",
      ],
    ];
    const not = [
      ...[".env", ".env.bak", "auth.json", "auth.lock", "gateway.pid", "gateway_state.json", "processes.json"],
      ...["code/hermes_cli/main.py", "node/bin/node", "logs/agent.log", "image_cache/a.png", "state.db-wal"],
      ...["state-snapshots/1/.env", "backups/old.zip", "checkpoints/1/HEAD", "sessions/request_dump_1.json"],
      ...["profiles/work/.env", "profiles/work/auth.json", "memories/MEMORY.md.lock", ".update_check"],
    ];
    const work = ["notes.txt", "project/src/main.c", "project/.git/HEAD"];
    const notWork = [".cache/x", ".local/bin/hermes", ".ssh/id_ed25519", "project/.env", "project/node_modules/a/b.js"];
    const files = [...[...made, ...not].map((name) => `.hermes/${name}`), ...work, ...notWork];
    const { backUp } = homeWith(Object.fromEntries(files.map((name) => [name, name])));
    expect(backUp().names).toEqual([...made, ...work.map((name) => `home/${name}`)].sort());
  });

  it("follows no link, and waits for no pipe", () => {
    const { home, backUp } = homeWith({ ".hermes/SOUL.md": "me" });
    symlinkSync("/etc/passwd", join(home, ".hermes/passwd"));
    symlinkSync("/etc", join(home, ".hermes/etc"));
    execFileSync("mkfifo", [join(home, ".hermes/pipe")]);
    expect(backUp().names).toEqual(["SOUL.md"]);
  });

  it("copies a database consistently, with its journal, and leaves nothing behind", () => {
    const { home, backUp } = homeWith({ "project/data.db": "no database" });
    mkdirSync(join(home, ".hermes"));
    const fill =
      "import sqlite3,os,sys\ndb=sqlite3.connect(sys.argv[1]);db.execute('pragma journal_mode=wal');db.execute('create table t(a)')\n" +
      "db.execute(\"insert into t values('in the journal')\");db.commit();os._exit(0)";
    execFileSync("python3", ["-c", fill, join(home, ".hermes/kanban.db")]);
    const { names, read } = backUp();
    expect(names).toEqual(["home/project/data.db", "kanban.db"]);
    expect(read("kanban.db").includes("in the journal")).toBe(true);
    expect(readdirSync(join(home, ".hermes")).filter((name) => name.startsWith(".clm"))).toEqual([]);
  });

  it.each([
    [
      "a database of its own that is none",
      (home: string) => appendFileSync(join(home, ".hermes/state.db"), "nonsense"),
      /state\.db: /,
    ],
    [
      "more than the limit",
      (home: string) => truncateSync(join(home, ".hermes/SOUL.md"), 2_000_000),
      /SOUL\.md: the backup would be larger than 1 MB/,
    ],
  ])("is undefined with %s", (_about, spoil, complaint) => {
    const { home, backUp } = homeWith({ ".hermes/SOUL.md": "me" });
    spoil(home);
    expect(backUp(1e6)).toMatchObject({ status: 1, stderr: expect.stringMatching(complaint) });
  });
});

describe("what arrives", () => {
  const limits = { bytes: 100_000, seconds: 60, silence: 60 };
  /** A process on a host with this output. */
  const saying = (stdout: Readable) => {
    let left = false;
    const process = { stdout, stdin: new PassThrough(), stderr: new PassThrough(), leave: () => (left = true) };
    return {
      process: { ...process, done: Promise.resolve({ code: 0 }) } as unknown as Process,
      left: () => left,
    };
  };

  it("may not be without end", async () => {
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(50_000));
      },
    });
    const { process, left } = saying(endless);
    await expect(receive(process, "wolf-i", join(scratch(), "a"), limits)).rejects.toThrow(
      "sent an answer over the size limit",
    );
    expect(left()).toBe(true);
  });

  it.each([
    ["fall silent", { ...limits, silence: 0.05 }, new Readable({ read() {} })],
    [
      "trickle for ever",
      { ...limits, seconds: 0.3 },
      new Readable({
        read() {
          setTimeout(() => this.push("x"), 20);
        },
      }),
    ],
  ])("may not %s", async (_about, short, stdout) => {
    const { process } = saying(stdout);
    await expect(receive(process, "wolf-i", join(scratch(), "a"), short)).rejects.toMatchObject({
      fault: "remote-timeout",
    });
  });
});
