import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hostStore } from "../../src/state/hosts.js";
import { openSecrets } from "../../src/state/secrets.js";
import { type Call, clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";
import { accountsOf, treeOf } from "./tree.js";

const host = "trial-1";

const lab = labFixture({ perTest: true });
const { home } = lab;
afterEach(async () => {
  await inHost(host, "rm -f /tmp/standin-install-*");
});

const install = (name: string, words: string[] = [], call: Partial<Call> = {}) =>
  clm(["agent", "install", "--type", "hermes", "--host", host, "--name", name, ...words], { home, ...call });
const recordOf = (name: string) =>
  hostStore(home)
    .read()
    .hosts.find((each) => each.name === host)?.agents[name];
const keyOf = (name: string) =>
  openSecrets(home).get({ host, type: "hermes", agent: name }, "HERMES_API_SERVER_KEY")?.reveal();

const jobs = "systemctl show --property InvocationID --value clm-job-install-ada.service";
/** Acts as soon as ada's installer runs. */
async function whenInstalling(act: () => unknown): Promise<void> {
  await inHost(
    host,
    "for n in $(seq 300); do pgrep -f '^bash /run/clm-[i]nstallers' >/dev/null && exit 0; sleep 0.1; done; exit 1",
  );
  await act();
}

describe.each(["trial-1", "trial13-1"])("an agent is installed on %s", (where) => {
  const come = (words: string[]) =>
    clm(["agent", "install", "--type", "hermes", "--host", where, "--name", "ada", ...words], { home });

  it.each(["2026.7.1+standin", "2026.5.7+standin"])("%s: private, disabled, not started", async (version) => {
    const { code, stdout, stderr } = await come(["--version", version]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ada +trial\S*-1 +hermes +\S+ \(stand-in\) +8642 /m)]);
    // Warnings of the installer are printed at the end.
    expect(stderr).toMatch(/warning: installer: .*Playwright/);
    expect(stderr.trimEnd()).toMatch(/next: clm agent configure ada$/);

    const seen = await inHost(
      where,
      `getent passwd ada | cut -d: -f5-7; passwd -S ada | cut -d' ' -f2
      stat -c '%a %U:%G %n' /home/ada /home/ada/.hermes /home/ada/.hermes/.env /home/ada/.hermes/config.yaml /home/ada/.hermes/memories
      systemctl is-enabled hermes-ada.service; systemctl is-active hermes-ada.service
      sudo -n -l -U ada | grep -c 'not allowed'; ls -A /run/clm-installers; true`,
    );
    expect(seen.split("\n")).toEqual([
      expect.stringMatching(/^clm agent [0-9a-f]{8}:\/home\/ada:\/usr\/sbin\/nologin$/),
      "L",
      "700 ada:ada /home/ada",
      "700 ada:ada /home/ada/.hermes",
      "600 ada:ada /home/ada/.hermes/.env",
      "600 ada:ada /home/ada/.hermes/config.yaml",
      "700 ada:ada /home/ada/.hermes/memories",
      "disabled",
      "inactive",
      "1",
      "",
    ]);
    const record = hostStore(home)
      .read()
      .hosts.find((each) => each.name === where)?.agents.ada;
    expect(record).toMatchObject({ status: "installed", version, port: 8642, onboarding: { state: "providers" } });
    const key = openSecrets(home).get({ host: where, type: "hermes", agent: "ada" }, "HERMES_API_SERVER_KEY");
    expect(key?.reveal()).toMatch(/^[0-9a-f]{64}$/);
    expect(readFileSync(join(home, "hosts.json"), "utf8")).not.toContain(key?.reveal());
  });
});

describe("installing again", () => {
  it("changes nothing, neither locally nor on the host", async () => {
    await install("ada");
    const [tree, hosts, key] = [await treeOf(host), readFileSync(join(home, "hosts.json"), "utf8"), keyOf("ada")];
    const { code, stderr } = await install("ada");
    expect(code).toBe(0);
    expect(stderr).toContain(`ada is already installed on ${host}; nothing was changed`);
    expect(await treeOf(host)).toBe(tree);
    expect(readFileSync(join(home, "hosts.json"), "utf8")).toBe(hosts);
    expect(keyOf("ada")).toBe(key);
    const other = await install("ada", ["--version", "2026.5.7+standin"]);
    expect([other.code, other.stderr]).toEqual([5, expect.stringContaining(`clm agent remove ${host}/ada`)]);
  });

  it("repairs and reports what was changed; a running agent keeps running", async () => {
    await install("ada");
    await inHost(
      host,
      `systemctl enable --now hermes-ada.service 2>/dev/null
      chmod 0755 /home/ada; chmod 0644 /home/ada/.hermes/.env; echo '# mine' >> /etc/systemd/system/hermes-ada.service`,
    );
    const { stderr } = await install("ada");
    expect(stderr).toContain("repaired directory /home/ada: mode 0755 -> 0700");
    expect(stderr).toContain("repaired file /home/ada/.hermes/.env: mode 0644 -> 0600");
    expect(stderr).toContain("repaired unit hermes-ada.service: content");
    expect(await inHost(host, "systemctl is-enabled hermes-ada; systemctl is-active hermes-ada")).toBe(
      "enabled\nactive\n",
    );
    await inHost(host, "rm /home/ada/.local/bin/hermes");
    const tree = await treeOf(host);
    const refused = await install("ada");
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining("next: clm agent stop ada")]);
    expect(await treeOf(host)).toBe(tree);
    expect((await clm(["agent", "stop", "ada"], { home })).code).toBe(0);
    expect((await install("ada")).stderr).toContain("done: run the installer");
    expect(await inHost(host, "test -x /home/ada/.local/bin/hermes && echo there")).toBe("there\n");
  });

  it("reads the version of an existing program from its files, without running it", async () => {
    await install("ada");
    await inHost(
      host,
      `cd /home/ada/.local/bin && mv hermes hermes-real && cat > hermes <<'END' && chmod 755 hermes
#!/bin/sh
[ -e /home/ada/asked ] || { touch /home/ada/asked; exit 1; }
exec /home/ada/.local/bin/hermes-real "$@"
END`,
    );
    const { code, stderr } = await install("ada");
    expect(await inHost(host, "[ -e /home/ada/asked ] || echo not run")).toBe("not run\n");
    expect([code, stderr]).toEqual([0, expect.stringContaining("nothing was changed")]);
  });
});

describe("things that clm did not make", () => {
  const untouched = async (make: string, undo: string, words: string[] = []) => {
    await inHost(host, make);
    try {
      const [tree, accounts] = [await treeOf(host), await accountsOf(host)];
      const done = await install("ada", words);
      expect([await treeOf(host), await accountsOf(host)]).toEqual([tree, accounts]);
      expect(recordOf("ada")).toBeUndefined();
      expect(keyOf("ada")).toBeUndefined();
      return done;
    } finally {
      await inHost(host, undo);
    }
  };

  it("an account of that name is refused and left alone", async () => {
    const { code, stdout, stderr } = await untouched("useradd -m -c Ada ada", "userdel -r ada 2>/dev/null");
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^user +fail/m)]);
    expect(stderr).toContain("ada is an account that this clm has no record of");
  });

  it("a group of that name is not used", async () => {
    const { code, stdout, stderr } = await untouched("groupadd --system ada", "groupdel ada");
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^user +fail/m)]);
    expect(stderr).toContain("there is a group called ada on the host; it has no members");
    expect(stderr).toContain("next: sudo groupdel ada");
    const audio = await install("audio");
    expect([audio.code, audio.stderr]).toEqual([1, expect.stringContaining("there is a group called audio")]);
    expect(await inHost(host, "getent group audio | cut -d: -f1")).toBe("audio\n");
  });

  it("a home without an account, and a unit", async () => {
    const { code, stderr } = await untouched(
      "mkdir /home/ada && printf '[Service]\\nExecStart=/bin/true\\n' > /etc/systemd/system/hermes-ada.service",
      "rmdir /home/ada && rm /etc/systemd/system/hermes-ada.service",
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/user: .*\/home\/ada exists/);
    expect(stderr).toMatch(/unit: .*a unit that this clm has no record of/);
  });

  it("a port that is in use or belongs to another agent", async () => {
    const listen = "systemd-run -q --unit trial-listen python3 -m http.server --bind 127.0.0.1 8642";
    await inHost(
      host,
      `${listen}; for n in $(seq 50); do curl -s -o /dev/null 127.0.0.1:8642 && exit 0; sleep 0.1; done; exit 1`,
    );
    try {
      const refused = await install("ada", ["--port", "8642"]);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("listens on port 8642")]);
      expect((await install("ada")).code).toBe(0);
      expect((await install("ben")).code).toBe(0);
      expect([recordOf("ada")?.port, recordOf("ben")?.port]).toEqual([8643, 8647]);
    } finally {
      await inHost(host, "systemctl stop trial-listen");
    }
    const taken = await install("eve", ["--port", "8647"]);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining("belongs to an agent")]);
    expect((await install("eve")).code).toBe(0);
    expect(recordOf("eve")?.port).toBe(8642);
  });
});

it("without root nothing is changed, and all failed checks are listed", async () => {
  await inHost(host, "mv /etc/sudoers.d/clm /root/sudoers-clm");
  try {
    const { code, stdout, stderr } = await install("ada");
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^sudo +fail[\s\S]*^user +skipped +needs sudo$/m)]);
    expect(stderr).toContain("nothing was changed");
    expect(recordOf("ada")).toBeUndefined();
  } finally {
    await inHost(host, "mv /root/sudoers-clm /etc/sudoers.d/clm");
  }
});

describe("a program is missing", () => {
  beforeEach(() => inHost(host, "dpkg --remove ffmpeg >/dev/null"));
  afterEach(() => inHost(host, "apt-get install -qq -y ffmpeg >/dev/null 2>&1"));

  it("--no-packages names the command to run on the host, and changes nothing", async () => {
    const tree = await treeOf(host);
    const { code, stdout, stderr } = await install("ada", ["--no-packages", "--yes"]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^program\.ffmpeg +fail/m)]);
    expect(stderr).toContain("next: sudo apt-get install -y ffmpeg");
    expect(await treeOf(host)).toBe(tree);
    expect(recordOf("ada")).toBeUndefined();
  });

  it("its package is installed when the user agrees", async () => {
    const asked = await install("ada");
    expect([asked.code, asked.stderr]).toEqual([6, expect.stringContaining("trial-1 lacks ffmpeg")]);
    expect(recordOf("ada")).toBeUndefined();
    expect((await install("ada", ["--yes"])).code).toBe(0);
    expect(await inHost(host, "ffmpeg -version | head -c 6")).toBe("ffmpeg");
  });
});

describe("an installer that does not match its pinned digest", () => {
  it("never reaches the host", async () => {
    const standin = readFileSync(join(home, "manifests", "lab.yaml"), "utf8");
    const [, url = ""] =
      /url: ["']?(file:\S+?7\.1\+standin\.sh|file:\S+?7\.1%2Bstandin\.sh)["']?$/m.exec(standin) ?? [];
    expect(url).not.toBe("");
    const good = readFileSync(new URL(url));
    const flipped = Buffer.from(good);
    flipped[1000] = (flipped[1000] ?? 0) ^ 1;
    const file = join(home, "flipped.sh");
    writeFileSync(file, flipped);
    const tree = await treeOf(host);
    const { code, stderr } = await install("ada", ["--installer-file", file]);
    expect([code, stderr]).toEqual([30, expect.stringContaining(createHash("sha256").update(good).digest("hex"))]);
    expect(await treeOf(host)).toBe(tree);
    expect(await inHost(host, "ls /run/clm-installers 2>/dev/null; true")).toBe("");
    expect(recordOf("ada")).toBeUndefined();
    writeFileSync(file, good);
    expect((await install("ada", ["--installer-file", file])).code).toBe(0);
  });
});

describe("an interrupted installation", () => {
  const slowly = () => inHost(host, "echo 6 > /tmp/standin-install-slow");

  it("clm is killed while the installer runs: it continues, and the same command follows it", async () => {
    await slowly();
    const killed = install("ada", [], { during: (child) => void whenInstalling(() => child.kill("SIGKILL")) });
    expect((await killed).signal).toBe("SIGKILL");
    expect(recordOf("ada")).toMatchObject({ status: "installing", port: 8642 });
    const invocation = await inHost(host, jobs);
    const key = keyOf("ada");
    // Only host and name: the rest is recorded.
    const resumed = await clm(["agent", "install", "--host", host, "--name", "ada"], {
      home,
      during: () => void whenInstalling(async () => expect(await inHost(host, jobs)).toBe(invocation)),
    });
    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain("Playwright");
    expect(recordOf("ada")).toMatchObject({ status: "installed" });
    expect(keyOf("ada")).toBe(key);
    expect(await inHost(host, "systemctl show --property ActiveState --value clm-job-install-ada")).toBe("inactive\n");
    expect((await install("ada")).stderr).toContain("nothing was changed");
  });

  it("Ctrl-C leaves the installer running and names the command to continue", async () => {
    await slowly();
    const stopped = await install("ada", [], { during: (child) => void whenInstalling(() => child.kill("SIGINT")) });
    expect([stopped.code, stopped.stderr]).toEqual([
      130,
      expect.stringMatching(`the installer (continues|may have started) on ${host}`),
    ]);
    expect(stopped.stderr).toContain(`next: clm agent install --type hermes --host ${host} --name ada`);
    expect((await install("ada")).code).toBe(0);
  });

  it("a lost connection is reported, and the same command continues", async () => {
    await slowly();
    const lost = await install("ada", [], {
      during: () => void whenInstalling(() => inHost(host, "pkill -KILL -f 'sshd: [c]lm'")),
    });
    expect([lost.code, lost.stderr]).toEqual([14, expect.stringContaining("the installer continues")]);
    expect((await install("ada")).code).toBe(0);
    expect(recordOf("ada")).toMatchObject({ status: "installed" });
  });

  it("a failed installer: its last output and exit code are shown, and the same command retries", async () => {
    await inHost(host, "echo 7 > /tmp/standin-install-fail");
    const failed = await install("ada");
    expect([failed.code, failed.stderr]).toEqual([16, expect.stringContaining("ended with exit code 7")]);
    expect(failed.stderr).toContain("Package installation failed");
    expect(failed.stderr).toContain(`next: clm agent install --type hermes --host ${host} --name ada`);
    expect(recordOf("ada")).toMatchObject({ status: "installing" });
    await inHost(host, "rm /tmp/standin-install-fail");
    expect((await install("ada")).code).toBe(0);
  });

  it.each(["2026.5.7+standin", "2026.7.1+standin"])("a tag that points to another commit: %s", async (version) => {
    await inHost(host, `echo ${"d".repeat(40)} > /tmp/standin-install-moved`);
    const moved = await install("ada", ["--version", version]);
    expect([moved.code, moved.stderr]).toEqual([30, expect.stringContaining("is not the pinned one")]);
    expect(moved.stderr).toContain(`/home/ada/.hermes/code is at commit ${"d".repeat(40)}`);
    expect(recordOf("ada")).toMatchObject({ status: "installing" });
    await inHost(host, "rm /tmp/standin-install-moved");
    expect((await install("ada", ["--version", version])).code).toBe(0);
  });

  it("a removal interrupted in userdel leaves the name free", async () => {
    await install("ada");
    // userdel writes users first, then groups.
    const broken = "/usr/local/sbin/userdel";
    await inHost(host, `printf '#!/bin/sh\\nsed -i "/^$1:/d" /etc/passwd; exit 1\\n' >${broken}; chmod 755 ${broken}`);
    const again = ["agent", "remove", "ada", "--yes", "--no-backup"];
    expect((await clm(again, { home })).code).not.toBe(0);
    expect(await inHost(host, `rm ${broken}; getent passwd ada; getent group ada; true`)).toBe("");
    expect((await clm(again, { home })).code).toBe(0);
    const { code, stderr } = await install("ada");
    expect(code, stderr).toBe(0);
  });

  it("a removal interrupted between group and user", async () => {
    const accounts = await accountsOf(host);
    await install("ada");
    await inHost(host, "usermod --gid nogroup ada");
    expect((await clm(["agent", "remove", "ada", "--yes", "--no-backup"], { home })).code).toBe(0);
    expect(await accountsOf(host)).toBe(accounts);
  });

  it("an unfinished installation is removed like any other", async () => {
    const [tree, accounts] = [await treeOf(host), await accountsOf(host)];
    await slowly();
    await install("ada", [], { during: (child) => void whenInstalling(() => child.kill("SIGKILL")) });
    expect((await clm(["agent", "remove", "ada", "--yes"], { home })).code).toBe(0);
    expect([await treeOf(host), await accountsOf(host)]).toEqual([tree, accounts]);
    expect(await inHost(host, "ls -A /run/clm/jobs /run/clm-installers | grep ada; true")).toBe("");
    expect(recordOf("ada")).toBeUndefined();
  });
});

describe("a dry run", () => {
  it("shows the checks and the planned changes, and changes nothing on either side", async () => {
    // The cache of downloaded installers may change.
    const isCache = (name: string) => /^cache(\/|$)/.test(name);
    const files = () =>
      readdirSync(home, { recursive: true, encoding: "utf8" })
        .filter((name) => !isCache(name))
        .sort();
    const state = () => ["hosts.json", "audit.jsonl"].map((name) => readFileSync(join(home, name), "utf8"));
    const before = [files(), state(), await treeOf(host)];
    const { code, stdout, stderr } = await install("ada", ["--dry-run"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^port +ok +8642 is free$/m);
    expect(stderr).toMatch(/would install hermes 2026\.7\.1\+standin on trial-1 as ada\n/);
    expect(stderr).toContain("would change user ada: missing");
    expect([files(), state(), await treeOf(host)]).toEqual(before);
  });
});
