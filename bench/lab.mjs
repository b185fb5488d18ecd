import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePackages } from "../scripts/setup.mjs";
import { clm, time } from "./measure.mjs";

/** Measures on a lab of its own, which is gone afterwards, whatever happened. */
export async function onLab({ name, hosts }, measure) {
  const folder = mkdtempSync(join(tmpdir(), "clm-bench-"));
  const home = join(folder, "home");
  const env = { CLM_HOME: home, ANSIBLE_CONFIG: join(folder, "ansible.cfg"), ANSIBLE_HOME: folder };
  try {
    time([...clm, "lab", "up", "--name", name, "--hosts", String(hosts)], env);
    const fleet = JSON.parse(readFileSync(join(home, "hosts.json"), "utf8")).hosts;
    return await measure({ folder, env, fleet, known: join(home, "known_hosts") });
  } finally {
    time([...clm, "lab", "down", "--name", name], env);
    rmSync(folder, { recursive: true });
  }
}

/** `ssh host true`, the floor of anything that asks a host. */
export const sshTrue = ({ fleet: [host], known }) => [
  ...["ssh", "-F", "none", "-i", host.identity, "-o", "IdentitiesOnly=yes", "-o", `UserKnownHostsFile=${known}`],
  ...["-o", `HostKeyAlias=${host.name}`, "-o", "BatchMode=yes", `${host.user}@${host.address}`, "true"],
];

/** The inventory that lets Ansible ask the same hosts; nothing when Ansible cannot be had. */
export function ansibleInventory({ folder, env, fleet, known }) {
  if (!ensurePackages({ ansible: "ansible-core" })) return undefined;
  const inventory = join(folder, "inventory");
  const line = ({ name, address, user, identity }) =>
    `${name} ansible_host=${address} ansible_user=${user} ansible_ssh_private_key_file=${identity} ` +
    `ansible_ssh_common_args='-F none -o UserKnownHostsFile=${known} -o HostKeyAlias=${name}'`;
  writeFileSync(inventory, `${fleet.map(line).join("\n")}\n`);
  // Ansible's connections stay open for a minute by default, which would give every round after the first a start.
  writeFileSync(env.ANSIBLE_CONFIG, "[ssh_connection]\nssh_args = -o ControlMaster=no\n");
  return inventory;
}
