import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordAgent } from "../../src/state/agents.js";
import { hostStore } from "../../src/state/hosts.js";
import { pidOf, unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";

const host = "trial-1";
const name = "vera";
const data = `/home/${name}/.hermes`;
const [env, config, memories] = [`${data}/.env`, `${data}/config.yaml`, `${data}/memories`];
const service = unitOf(name);
const unitPath = `/etc/systemd/system/${service}`;
const link = `/etc/systemd/system/multi-user.target.wants/${service}`;

const ours = "Tr0ub4dor-and-3-horses";
const foreign = "hunter2-of-somebody-else";
const own = "# of my own\nmine:\n  list: [1, 2] # as I like it\n";
const ownSettings = `printf '%s' '${own}' >> ${config}`;

/** Damage to an agent on its host, and where diff must find it. */
const damages: Record<string, { what: string; script: string; keeps?: "not-config" | "not-memories" }> = {
  "no .env": { what: `file ${env}`, script: `rm -f ${env}` },
  "an open .env": { what: `file ${env}`, script: `chmod 644 ${env}` },
  "root's .env": { what: `file ${env}`, script: `chown root ${env}` },
  "an edited .env": { what: `file ${env}`, script: `sed -i 's/^MY_TOKEN=.*/MY_TOKEN=${foreign}/' ${env}` },
  "one variable less": { what: `file ${env}`, script: `sed -i '/^API_SERVER_HOST=/d' ${env}` },
  "one variable more": { what: `file ${env}`, script: `echo 'EXTRA_KEY=${foreign}' >> ${env}` },
  "no config.yaml": { what: `file ${config}`, script: `rm -f ${config}`, keeps: "not-config" },
  "an open config.yaml": { what: `file ${config}`, script: `chmod 640 ${config}` },
  "root's config.yaml": { what: `file ${config}`, script: `chown root: ${config}; chmod 600 ${config}` },
  "an edited config.yaml": { what: `file ${config}`, script: `sed -i 's/echo-1/another-model/' ${config}` },
  "a key in config.yaml": { what: `file ${config}`, script: `sed -i 's/api_key: .*/api_key: ${foreign}/' ${config}` },
  "an open directory": { what: `directory ${data}`, script: `chmod 755 ${data}` },
  "root's directory": { what: `directory ${data}`, script: `chown root: ${data}` },
  "no memories": { what: `directory ${memories}`, script: `rm -rf ${memories}`, keeps: "not-memories" },
  "an open home": { what: `directory /home/${name}`, script: `chmod 755 /home/${name}` },
  "a login shell": { what: `user ${name}`, script: `usermod -s /bin/bash ${name}` },
  "a password": { what: `user ${name}`, script: `usermod -p x ${name}` },
  "no unit": { what: `unit ${service}`, script: `rm -f ${unitPath}` },
  "an edited unit": {
    what: `unit ${service}`,
    script: `printf '[Service]\\nNoNewPrivileges=no\\nEnvironment=A_KEY=${foreign}\\n' >> ${unitPath}`,
  },
  "an open unit": { what: `unit ${service}`, script: `chmod 666 ${unitPath}` },
  "somebody's unit": { what: `unit ${service}`, script: `chown ${name} ${unitPath}` },
  stopped: { what: `unit ${service}`, script: `systemctl stop ${service}` },
  disabled: { what: `unit ${service}`, script: `systemctl disable ${service}` },
  "not in what comes up at boot": { what: `unit ${service}`, script: `rm -f ${link}` },
  masked: { what: `unit ${service}`, script: `ln -sfn /dev/null ${unitPath}; systemctl daemon-reload` },
  "masked without a daemon-reload": { what: `unit ${service}`, script: `ln -sfn /dev/null ${unitPath}` },
  "masked until boot": { what: `unit ${service}`, script: `systemctl mask --runtime ${service}` },
  "a drop-in": {
    what: `unit ${service}`,
    script: `mkdir -p ${unitPath}.d; printf '[Service]\\nEnvironment=A_KEY=${foreign}\\n' > ${unitPath}.d/own.conf; systemctl daemon-reload`,
  },
  "a drop-in until boot": {
    what: `unit ${service}`,
    script: `mkdir -p /run/systemd/system/${service}.d; echo '[Service]' > /run/systemd/system/${service}.d/own.conf`,
  },
  "a property": { what: `unit ${service}`, script: `systemctl set-property ${service} CPUWeight=50` },
  "another unit before it": {
    what: `unit ${service}`,
    script: `mkdir -p /run/systemd/system.control; printf '[Service]\\nExecStart=/bin/sleep 9999\\n' > /run/systemd/system.control/${service}; systemctl daemon-reload`,
  },
};

/** The user's own files, as text. */
const unmanaged = `
cat /home/${name}/notes/diary.txt ${data}/SOUL.md ${data}/own.bin | sha256sum
stat -c '%U %a %Y %n' /home/${name}/notes/diary.txt ${data}/own.bin /etc/systemd/system/service.d/all.conf
`;
const remembered = `sha256sum ${memories}/MEMORY.md`;
const ownPart = `grep -A 2 '^# of my own' ${config}`;

const lab = labFixture({ agents: [{ host, name }] });
const { home } = lab;
beforeAll(async () => {
  const set = ["agent", "secret", "set", name, "MY_TOKEN", "--stdin"];
  expect(await clm(set, { home, input: ours })).toMatchObject({ code: 0 });
  await lab.must("agent", "configure", name, "--provider", "echo");
  await inHost(
    host,
    `mkdir -p /home/${name}/notes /etc/systemd/system/service.d && echo 'dear diary' > /home/${name}/notes/diary.txt
     printf 'remember the milk\\n' > ${memories}/MEMORY.md; printf 'I am Vera\\n' > ${data}/SOUL.md; printf '\\0\\377' > ${data}/own.bin
     chown -R ${name}: /home/${name}/notes ${memories}/MEMORY.md ${data}/SOUL.md ${data}/own.bin
     printf '[Service]\\n' > /etc/systemd/system/service.d/all.conf; systemctl daemon-reload
     ${ownSettings}`,
  );
});
afterAll(async () => {
  await inHost(
    host,
    `rm -rf /etc/systemd/system/service.d ${unitPath}.d /run/systemd/system/${service}* /run/systemd/system.control/${service}* /etc/systemd/system.control/${service}.d; systemctl daemon-reload`,
  );
});

interface DriftReport {
  result: string;
  changes: { what: string; differences: string[]; details?: string[] }[];
  lost: object[];
}

let key = "";
/** Runs clm, and checks that its output has no secret. */
async function reportOf(...words: string[]) {
  const { code, stdout, stderr } = await clm(words, { home });
  key ||= JSON.parse(await readFile(join(home, "secrets.json"), "utf8"))[`${host}:hermes:${name}`].HERMES_API_SERVER_KEY
    .value;
  for (const secret of [ours, foreign, key]) expect(stdout + stderr).not.toContain(secret);
  return { code, stdout, stderr };
}
const diff = async (): Promise<DriftReport & { code: number | null }> => {
  const { code, stdout } = await reportOf("agent", "diff", name, "-o", "json");
  return { code, ...JSON.parse(stdout) };
};
const sync = async () => {
  const { code, stdout, stderr } = await reportOf("agent", "sync", name, "-o", "json");
  expect([code, stderr.includes("error:")], stderr).toEqual([0, false]);
  return JSON.parse(stdout) as DriftReport & { proofs: { id: string; result: string; reason: string }[] };
};

/** Pseudo-random numbers from a seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Every kind of damage once, in groups of this size, in an order given by the seed. */
function hands(seed: number, size: number): string[][] {
  const below = numbers(seed);
  const kinds = Object.keys(damages);
  for (let at = kinds.length - 1; at > 0; at--) {
    const other = below(at + 1);
    [kinds[at], kinds[other]] = [kinds[other] as string, kinds[at] as string];
  }
  return Array.from({ length: Math.ceil(kinds.length / size) }, (_, at) => kinds.slice(at * size, (at + 1) * size));
}

const exhaustive = Boolean(process.env.CLM_TEST_EXHAUSTIVE);
const seed = Number(process.env.CLM_TEST_SEED ?? Math.floor(Math.random() * 1e6));
// Each damage must be found alone, and several must not hide each other.
const rounds = exhaustive ? [1, 2, 3, 5].flatMap((size, at) => hands(seed + at, size)) : hands(seed, 11);

describe("diff and sync", () => {
  it("find no drift after configure, in one exec", async () => {
    const { code, stdout, stderr } = await clm(["agent", "diff", name, "-o", "json", "--debug"], { home });
    expect([code, JSON.parse(stdout).result]).toEqual([0, "same"]);
    expect(stderr.match(/Sending CHANNEL_REQUEST \(r:\d+, exec/g)).toHaveLength(1);
    expect((await sync()).changes).toEqual([]);
  });

  it.each(rounds.map((hand) => [hand.join(", "), hand] as const))(
    `find, name and repair: %s (CLM_TEST_SEED=${seed})`,
    async (_, hand) => {
      const kept = (but: string) => !hand.some((each) => damages[each]?.keeps === but);
      const looks = [
        unmanaged,
        ...(kept("not-config") ? [ownPart] : []),
        ...(kept("not-memories") ? [remembered] : []),
      ];
      const before = await inHost(host, looks.join("\n"));
      await inHost(host, hand.map((each) => `{ ${damages[each]?.script}; } || true`).join("\n"));

      const found = await diff();
      expect([found.code, found.result]).toEqual([3, "differs"]);
      const things = found.changes.map(({ what }) => what);
      for (const each of hand) expect(things, each).toContain(damages[each]?.what);

      const repaired = await sync();
      expect(repaired.changes.map(({ what }) => what)).toEqual(expect.arrayContaining(things));
      expect(repaired.proofs.filter(({ result }) => result === "fail")).toEqual([]);
      expect(await diff()).toMatchObject({ code: 0, result: "same", changes: [], lost: [] });

      const pid = await pidOf(host, name);
      expect((await sync()).changes).toEqual([]);
      const now = `systemctl is-enabled ${service}; systemctl show -p MainPID --value ${service}`;
      expect(await inHost(host, [now, ...looks].join("\n"))).toBe(`enabled\n${pid}\n${before}`);
      if (!kept("not-config")) await inHost(host, ownSettings);
      if (!kept("not-memories"))
        await inHost(
          host,
          `printf 'remember the milk\\n' > ${memories}/MEMORY.md; chown ${name}: ${memories}/MEMORY.md`,
        );
    },
  );

  it("show variables by name, settings by value, and the unit by its lines", async () => {
    const kinds = ["an edited .env", "one variable more", "an edited config.yaml", "an edited unit"];
    await inHost(host, kinds.map((each) => damages[each]?.script).join("\n"));
    const { code, stdout, stderr } = await reportOf("diff", name);
    expect(code).toBe(3);
    const lines = stdout.split("\n").map((line) => line.trim());
    expect(lines).toContain('~ model.default ("another-model" -> "echo-1")');
    expect(lines).toContainEqual(expect.stringMatching(/^~ MY_TOKEN \([0-9a-f]{6}… -> [0-9a-f]{6}…\)$/));
    expect(lines).toContainEqual(expect.stringMatching(/^- EXTRA_KEY \([0-9a-f]{6}…\)$/));
    expect(lines).toEqual(expect.arrayContaining(["-NoNewPrivileges=no", "-Environment=…"]));
    expect(stderr.trim().split("\n").slice(-2)).toEqual([`next: clm agent sync ${name}`, "0 as configured, 1 differs"]);
    // A dry run shows the same, and changes nothing.
    expect((await reportOf("agent", "sync", name, "--dry-run")).stderr).toContain("- EXTRA_KEY");
    expect((await diff()).code).toBe(3);
    // The settings of the model were wrong, so the model is asked.
    expect((await sync()).proofs.at(-1)).toMatchObject({ id: "chat", result: "ok" });
    await inHost(host, `systemctl stop ${service}`);
    expect((await sync()).proofs.at(-1)).toMatchObject({ id: "chat", result: "skipped" });
  });

  it("repair a stopped agent without starting it", async () => {
    await lab.must("agent", "stop", name);
    expect((await diff()).code).toBe(0);
    await inHost(host, `systemctl enable --now ${service}; rm ${env}`);
    expect((await diff()).changes.map(({ what }) => what)).toEqual([`file ${env}`, `unit ${service}`]);
    expect((await sync()).proofs).toEqual([]);
    expect(await inHost(host, `systemctl is-enabled ${service}; systemctl is-active ${service}; true`)).toBe(
      "disabled\ninactive\n",
    );
    expect([(await diff()).code, (await sync()).changes]).toEqual([0, []]);
    await lab.must("agent", "start", name);
    expect((await diff()).code).toBe(0);
  });

  it("report what sync cannot repair, and what cannot be read", async () => {
    const launcher = `/home/${name}/.local/bin/hermes`;
    await inHost(host, `mv ${launcher} ${launcher}.away`);
    expect(await diff()).toMatchObject({ code: 3, changes: [], lost: [{ what: `program ${launcher}` }] });
    await inHost(host, `mv ${launcher}.away ${launcher}`);

    // An account without the mark may belong to someone else by now.
    const mark = (await inHost(host, `getent passwd ${name} | cut -d: -f5`)).trim();
    await inHost(host, `usermod -c somebody -s /bin/bash ${name}`);
    expect(await diff()).toMatchObject({ code: 3, changes: [], lost: [{ what: `user ${name}` }] });
    expect((await reportOf("agent", "sync", name)).code).toBe(5);
    expect(await inHost(host, `getent passwd ${name} | cut -d: -f5,7`)).toBe("somebody:/bin/bash\n");
    await inHost(host, `usermod -c '${mark}' -s /usr/sbin/nologin ${name}`);

    // A foreign file is not removed to make the path readable.
    await inHost(host, `cp -p ${config} /root/kept; echo 'a: [' >> ${config}`);
    expect(await diff()).toMatchObject({ code: 3, changes: [], lost: [{ what: `file ${config}` }] });
    expect((await reportOf("agent", "sync", name)).code).toBe(2);
    await inHost(host, `tail -n 1 ${config} | grep -x 'a: \\['; mv /root/kept ${config}`);

    const status = (now: "installed" | "installing") =>
      recordAgent(hostStore(home), { host, name }, (record) => record && { ...record, status: now });
    await status("installing");
    const { code, stdout } = await reportOf("diff");
    expect([code, stdout]).toEqual([8, expect.stringContaining("its installation was interrupted")]);
    await status("installed");
    expect((await reportOf("diff", "-o", "name")).stdout).toBe("");
  });
});
