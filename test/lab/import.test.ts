import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { standinInstaller } from "../../src/lab/standin.js";
import { quote } from "../../src/quote.js";
import { findHost, hostStore } from "../../src/state/hosts.js";
import { agentsIn } from "./agents.js";
import { clm, inHost } from "./clm.js";

const shared = inject("fleetHome");
const host = "trial-1";
const key = "5a".repeat(32);
const work = mkdtempSync(join(tmpdir(), "clm-import-"));
const from = join(work, "clawrium");
const record = findHost(hostStore(shared).read().hosts, host);

/** A config directory with only the stand-ins in its registry. */
function emptyHome(name: string): string {
  const home = join(work, name);
  mkdirSync(home, { mode: 0o700 });
  cpSync(join(shared, "manifests"), join(home, "manifests"), { recursive: true });
  return home;
}

/** An agent as Clawrium leaves it: no mark in its account, an open unit, its API on all interfaces. */
const makeAgent = (name: string) => `
set -e
useradd -m -s /usr/sbin/nologin ${name}
runuser -u ${name} -- env HOME=/home/${name} bash -c 'cd && bash /tmp/old-installer.sh --skip-setup --branch v2026.5.7 --dir ~/.hermes/code --hermes-home ~/.hermes' >/dev/null 2>&1 </dev/null
cat > /home/${name}/.hermes/.env << 'END'
HERMES_INFERENCE_PROVIDER='custom'
OPENROUTER_API_KEY='left-behind'
API_SERVER_ENABLED='1'
API_SERVER_HOST='0.0.0.0'
API_SERVER_PORT='8642'
API_SERVER_KEY='${key}'
END
printf 'model:\\n  provider: custom\\n  base_url: http://127.0.0.1:4180/v1\\n  default: echo-1\\n# my own\\ndisplay:\\n  compact: true\\n' > /home/${name}/.hermes/config.yaml
chown ${name}: /home/${name}/.hermes/.env /home/${name}/.hermes/config.yaml
chmod 0600 /home/${name}/.hermes/.env /home/${name}/.hermes/config.yaml
chmod 0700 /home/${name}/.hermes
cat > /etc/systemd/system/hermes-${name}.service << 'END'
[Unit]
Description=Hermes AI Agent (${name})
After=network.target
[Service]
Type=simple
User=${name}
WorkingDirectory=/home/${name}/.hermes
EnvironmentFile=/home/${name}/.hermes/.env
ExecStart=/home/${name}/.local/bin/hermes gateway run
Restart=on-failure
RestartSec=5
[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
`;

const agentRecord = (name: string) => ({
  type: "hermes",
  version: "2026.5.7+standin",
  status: "installed",
  agent_name: name,
  config: {
    provider: { name: "echo", type: "ollama", endpoint: "http://127.0.0.1:4180", default_model: "echo-1" },
    api_server: { enabled: true, host: "0.0.0.0", port: 8642 },
  },
  onboarding: { state: "ready", stages: { providers: { status: "complete", provider_id: "echo" } } },
});

function writeClawrium(): void {
  mkdirSync(join(from, "keys", "box"), { recursive: true, mode: 0o700 });
  cpSync(join(shared, "keys", "lab_ed25519"), join(from, "keys", "box", "xclm_ed25519"));
  const put = (file: string, content: unknown) =>
    writeFileSync(join(from, file), JSON.stringify(content), { mode: 0o600 });
  const agents = { olda: agentRecord("olda"), oldb: agentRecord("oldb"), gone: agentRecord("gone") };
  put("hosts.json", [
    { hostname: record.address, key_id: "box", alias: "box", port: 22, user: record.user, agents },
    // No host has this address.
    { hostname: "127.0.0.1", key_id: "dead", port: 9, user: "xclm", agents: { lost: agentRecord("lost") } },
  ]);
  put("providers.json", [{ name: "echo", type: "ollama", endpoint: "http://127.0.0.1:4180", default_model: "echo-1" }]);
  const kept = (value: string) => ({ HERMES_API_SERVER_KEY: { value, created_at: "", updated_at: "" } });
  put("secrets.json", {
    [`${record.address}:hermes:olda`]: kept(key),
    "box:hermes:oldb": kept("6b".repeat(32)),
    "box:hermes:gone": kept(key),
  });
}

beforeAll(async () => {
  for (const part of standinInstaller("2026.5.7").match(/[\s\S]{1,60000}/g) ?? [])
    await inHost(host, `printf %s ${quote(part)} >> /tmp/old-installer.sh`);
  await inHost(host, "chmod 0755 /tmp/old-installer.sh");
  for (const name of ["olda", "oldb"]) await inHost(host, makeAgent(name));
  await inHost(host, "systemctl enable --now hermes-olda.service 2>/dev/null");
  writeClawrium();
});
afterAll(async () => {
  const drop = (name: string) => `systemctl disable --now hermes-${name}.service 2>/dev/null
rm -f /etc/systemd/system/hermes-${name}.service
pkill -KILL -u ${name}; userdel -rf ${name} 2>/dev/null`;
  await inHost(host, `${["olda", "oldb"].map(drop).join("\n")}\nrm -f /tmp/old-installer.sh\nsystemctl daemon-reload`);
  rmSync(work, { recursive: true });
});

const importInto = async (home: string, ...more: string[]) => {
  const args = ["import", "clawrium", "--from", from, "--yes", "-o", "json", ...more];
  const { code, stdout, stderr } = await clm(args, { home });
  expect(stdout, stderr).not.toBe("");
  return { code, stderr, ...JSON.parse(stdout) };
};

it("trusts no host by itself: without an answer it is imported unpinned, with the command to pin it", async () => {
  const home = emptyHome("untrusting");
  const { code, untrusted, compared } = await importInto(home);
  expect(code).toBe(0);
  expect(untrusted).toMatchObject([
    { host: "box", fix: "clm host trust box" },
    { host: "dead", fix: "clm host check dead" },
  ]);
  for (const agent of ["olda", "oldb", "gone"])
    expect(compared).toContainEqual(
      expect.objectContaining({ agent: `box:hermes:${agent}`, id: "host", fix: "clm host trust box" }),
    );
  expect(compared).toContainEqual(expect.objectContaining({ agent: "dead:hermes:lost", id: "host" }));
  const real = await inHost(host, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub");
  const trusted = await clm(["host", "trust", "box", "--fingerprint", real.split(" ")[1] ?? ""], { home });
  expect(trusted, trusted.stderr).toMatchObject({ code: 0 });
  expect((await clm(["host", "exec", "box", "--", "true"], { home })).code).toBe(0);
});

it("adopts agents as they are, reports differences, and configure repairs them", { timeout: 240_000 }, async () => {
  const home = emptyHome("whole");
  const before = await inHost(host, "cat /home/olda/.hermes/.env /etc/systemd/system/hermes-olda.service | sha256sum");
  const { code, compared, untrusted, stderr } = await importInto(home, "--accept-new");
  expect([code, stderr]).toEqual([0, ""]);
  expect(untrusted).toMatchObject([{ host: "dead" }]);

  const rows = (agent: string): Record<string, { differs: string; fix: string }> =>
    Object.fromEntries(
      compared
        .filter((row: { agent: string }) => row.agent === `box:hermes:${agent}`)
        .map((row: { id: string }) => [row.id, row]),
    );
  expect(Object.keys(rows("olda")).sort()).toEqual(["bind", "hardening", "port", "variables"]);
  expect(rows("olda").bind?.differs).toContain("0.0.0.0");
  expect(rows("olda").hardening?.differs).toContain("NoNewPrivileges");
  expect(rows("olda").variables?.differs).toContain("OPENROUTER_API_KEY");
  expect(rows("olda").port).toMatchObject({ fix: "clm agent configure olda --port auto" });
  // Its key was changed on the host without Clawrium.
  expect(Object.keys(rows("oldb")).sort()).toEqual(["bind", "hardening", "key", "port", "variables"]);
  expect(Object.keys(rows("gone"))).toEqual(["account"]);
  expect(JSON.stringify(compared)).not.toContain(key);
  expect(await inHost(host, "cat /home/olda/.hermes/.env /etc/systemd/system/hermes-olda.service | sha256sum")).toBe(
    before,
  );

  const { must, configure } = agentsIn(home);
  const list = JSON.parse((await must("agent", "list", "-o", "json")).stdout);
  expect(list.map((agent: { name: string }) => agent.name).sort()).toEqual(["gone", "lost", "olda", "oldb"]);
  expect(hostStore(home).read().hosts[0]).toMatchObject({ name: "box", sudo: "passwordless", facts: { os: "debian" } });
  expect(readFileSync(join(home, "known_hosts"), "utf8")).toMatch(/^box ssh-ed25519 /);

  const refused = await configure("olda");
  expect([refused.code === 0, refused.stderr]).toEqual([false, expect.stringContaining("--allow-removal")]);
  const right = await configure("olda", "--allow-removal");
  expect(right.code, right.stderr).toBe(0);
  expect(right.done.state).toBe("ready");
  const env = await inHost(host, "cat /home/olda/.hermes/.env");
  expect(env).toMatch(/API_SERVER_HOST=.?127\.0\.0\.1/);
  expect(env).not.toContain("OPENROUTER_API_KEY");
  expect(await inHost(host, "cat /home/olda/.hermes/config.yaml")).toContain("# my own");
  expect(await inHost(host, "systemctl show -p NoNewPrivileges --value hermes-olda.service")).toBe("yes\n");
});
