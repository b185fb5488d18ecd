import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { agentsInPlace, ansibleInventory, onLab, sshTrue } from "../lab.mjs";
import { atMost, clm, faster, race } from "../measure.mjs";
import { playbookWords } from "../size.mjs";

const lab = { name: "benchconf", hosts: 1 };
const what = "configure, nothing to change";

/** `configure` of an agent without drift, compared with `ssh host true` and a playbook that checks the same things. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return [skipped("lab hosts need root")];
  return onLab(lab, (setting) => {
    agentsInPlace(setting);
    const configure = [...clm, "agent", "configure", "bench", "--provider", "echo"];
    const [ms, floor] = race([configure, sshTrue(setting)], 9, setting.env);
    return [atMost(what, ms, "ssh host true", floor, 3), againstAnsible(ms, setting)];
  });
}

// What configure checks: account, directories, the two files, the unit, its state, and the process on the port.
const playbook = `- hosts: all
  become: true
  gather_facts: false
  tasks:
    - user: { name: bench, shell: /usr/sbin/nologin, password_lock: true }
    - file: { path: /home/bench/.hermes, state: directory, owner: bench, mode: "0700" }
    - file: { path: /home/bench/.hermes/memories, state: directory, owner: bench, mode: "0700" }
    - slurp: { src: /home/bench/.hermes/.env }
      register: env
    - copy: { dest: /home/bench/.hermes/.env, content: "{{ env.content | b64decode }}", owner: bench, mode: "0600" }
    - slurp: { src: /home/bench/.hermes/config.yaml }
      register: config
    - copy: { dest: /home/bench/.hermes/config.yaml, content: "{{ config.content | b64decode }}", owner: bench, mode: "0600" }
    - slurp: { src: /etc/systemd/system/hermes-bench.service }
      register: unit
    - copy: { dest: /etc/systemd/system/hermes-bench.service, content: "{{ unit.content | b64decode }}", mode: "0644" }
    - systemd: { name: hermes-bench.service, state: started, enabled: true }
    - command: runuser -u bench -- env HOME=/home/bench /home/bench/.local/bin/hermes --version
      changed_when: false
    - uri: { url: "http://127.0.0.1:8642/health" }
    - uri: { url: "http://127.0.0.1:8642/v1/models", status_code: 401 }
`;

function againstAnsible(ms, setting) {
  const inventory = ansibleInventory(setting);
  if (!inventory) return skipped("ansible-core is not installed");
  const file = join(setting.folder, "playbook.yaml");
  writeFileSync(file, playbook);
  const [took] = race([["ansible-playbook", ...playbookWords, "-i", inventory, file]], 3, setting.env);
  return faster(what, ms, "an Ansible playbook", took, 10);
}

const skipped = (note) => ({ what, against: "an Ansible playbook", goal: ">= 10 x faster", note: `skipped: ${note}` });
