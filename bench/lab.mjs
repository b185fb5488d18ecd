import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePackages, onPath } from "../scripts/setup.mjs";
import { clm, time } from "./measure.mjs";
import { smoke } from "./size.mjs";

const open = new Map();

/** Measures on a lab that is always removed afterwards. In a smoke run all rows share one lab of one host. */
export async function onLab({ name, hosts }, measure) {
  if (smoke) return measure(open.get("bench") ?? labUp("bench", 1));
  try {
    return await measure(labUp(name, hosts));
  } finally {
    labDown(name);
  }
}

function labUp(name, hosts) {
  const folder = mkdtempSync(join(tmpdir(), "clm-bench-"));
  const home = join(folder, "home");
  const env = { CLM_HOME: home, ANSIBLE_CONFIG: join(folder, "ansible.cfg"), ANSIBLE_HOME: folder };
  const setting = { folder, env, fleet: [], known: join(home, "known_hosts") };
  open.set(name, setting);
  time([...clm, "lab", "up", "--name", name, "--hosts", String(hosts)], env);
  setting.fleet = JSON.parse(readFileSync(join(home, "hosts.json"), "utf8")).hosts;
  return setting;
}

function labDown(name) {
  const { folder, env } = open.get(name);
  time([...clm, "lab", "down", "--name", name], env);
  open.delete(name);
  rmSync(folder, { recursive: true });
}

/** Takes down the lab of a smoke run, or of a row that was stopped. */
export const allLabsDown = () => [...open.keys()].forEach(labDown);

export const agent = "bench";

/** Installs and configures the agent `bench` on every host, with the lab's echo server as its model. */
export function agentsInPlace(setting) {
  if (setting.agents) return;
  const { env, fleet } = setting;
  const provider = ["--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model", "echo"];
  time([...clm, "provider", "add", "echo", ...provider], env);
  const install = `${clm.join(" ")} agent install --type hermes --host HOST --name ${agent} --yes`;
  const hosts = fleet.map(({ name }) => name).join(" ");
  time(["sh", "-c", `printf '%s\\n' ${hosts} | xargs -P 4 -I HOST ${install}`], env);
  time([...clm, "agent", "configure", "--all", "--provider", "echo", "--parallel", "4"], env);
  setting.agents = true;
}

/** `ssh host true`: the least time that any command on a host takes. */
export const sshTrue = ({ fleet: [host], known }) => [
  ...["ssh", "-F", "none", "-i", host.identity, "-o", "IdentitiesOnly=yes", "-o", `UserKnownHostsFile=${known}`],
  ...["-o", `HostKeyAlias=${host.name}`, "-o", "BatchMode=yes", `${host.user}@${host.address}`, "true"],
];

/** An Ansible inventory of the same hosts; undefined when Ansible is not available. */
export function ansibleInventory({ folder, env, fleet, known }) {
  if (smoke ? !onPath("ansible") : !ensurePackages({ ansible: "ansible-core" })) return undefined;
  const inventory = join(folder, "inventory");
  const line = ({ name, address, user, identity }) =>
    `${name} ansible_host=${address} ansible_user=${user} ansible_ssh_private_key_file=${identity} ` +
    `ansible_ssh_common_args='-F none -o UserKnownHostsFile=${known} -o HostKeyAlias=${name}'`;
  writeFileSync(inventory, `${fleet.map(line).join("\n")}\n`);
  // By default Ansible keeps connections open for a minute, so every round after the first would save the handshake.
  writeFileSync(env.ANSIBLE_CONFIG, "[ssh_connection]\nssh_args = -o ControlMaster=no\n");
  return inventory;
}
