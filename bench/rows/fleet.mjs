import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { atMost, clm, faster, race, time } from "../measure.mjs";

const lab = "bench";
const hosts = 20;

/** One question to twenty hosts, against Ansible with twenty forks and against OpenSSH asking one host. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return [skipped("lab hosts need root")];
  const folder = mkdtempSync(join(tmpdir(), "clm-bench-"));
  const env = { CLM_HOME: join(folder, "home"), ANSIBLE_CONFIG: join(folder, "ansible.cfg"), ANSIBLE_HOME: folder };
  try {
    time([...clm, "lab", "up", "--name", lab, "--hosts", String(hosts)], env);
    const fleet = JSON.parse(readFileSync(join(env.CLM_HOME, "hosts.json"), "utf8")).hosts;
    const known = join(env.CLM_HOME, "known_hosts");
    const question = "uname -r";
    const clmAsks = [...clm, "host", "exec", `${lab}-*`, "-o", "json", "--", ...question.split(" ")];
    const clmAsksOne = [...clm, "host", "exec", `${lab}-1`, "-o", "json", "--", "true"];
    const ssh = (host) => [
      ...["ssh", "-F", "none", "-i", host.identity, "-o", "IdentitiesOnly=yes", "-o", `UserKnownHostsFile=${known}`],
      ...["-o", `HostKeyAlias=${host.name}`, "-o", "BatchMode=yes", `${host.user}@${host.address}`, "true"],
    ];
    const [all, one, floor] = race([clmAsks, clmAsksOne, ssh(fleet[0])], 7, env);
    return [
      atMost("one host asked", one, "ssh host true", floor, 3),
      atMost("20 hosts asked", all, "ssh host true (one host)", floor, 10),
      ...againstAnsible(all, folder, fleet, question, env, known),
    ];
  } finally {
    time([...clm, "lab", "down", "--name", lab], env);
    rmSync(folder, { recursive: true });
  }
}

function againstAnsible(ms, folder, fleet, question, env, known) {
  if (!ensurePackages({ ansible: "ansible-core" })) return [skipped("ansible-core is not installed")];
  const inventory = join(folder, "inventory");
  const line = ({ name, address, user, identity }) =>
    `${name} ansible_host=${address} ansible_user=${user} ansible_ssh_private_key_file=${identity} ` +
    `ansible_ssh_common_args='-F none -o UserKnownHostsFile=${known} -o HostKeyAlias=${name}'`;
  writeFileSync(inventory, `${fleet.map(line).join("\n")}\n`);
  // Ansible's connections stay open for a minute by default, which would give every round after the first a start.
  writeFileSync(env.ANSIBLE_CONFIG, "[ssh_connection]\nssh_args = -o ControlMaster=no\n");
  const ansible = (module) => ["ansible", "-i", inventory, "-f", "20", "all", "-m", module, "-a", question];
  const [command, raw] = race([ansible("command"), ansible("raw")], 3, env);
  return [
    faster("20 hosts asked", ms, "ansible -f 20 -m command", command, 4),
    // Without Ansible's own machinery: what is left is its processes and their SSH connections.
    {
      what: "20 hosts asked",
      ms,
      against: "ansible -f 20 -m raw",
      peerMs: raw,
      ratio: `${(raw / ms).toFixed(1)} x faster`,
      goal: "-",
    },
  ];
}

const skipped = (note) => ({
  what: "20 hosts asked",
  against: "ansible -f 20",
  goal: ">= 4 x faster",
  note: `skipped: ${note}`,
});
