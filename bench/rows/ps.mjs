import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { agent, agentsInPlace, ansibleInventory, onLab } from "../lab.mjs";
import { atMost, clm, faster, race, time } from "../measure.mjs";
import { playbookWords } from "../size.mjs";

const lab = { name: "benchps", hosts: 20 };
const [shown, compared] = ["ps, 20 hosts with an agent each", "diff, 20 agents, nothing differs"];

/** Live status and drift of twenty agents, compared with Ansible checking only a part of that with twenty forks. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return skipped("lab hosts need root");
  return onLab(lab, (setting) => {
    const { env } = setting;
    agentsInPlace(setting);
    const inventory = ansibleInventory(setting);
    const [ps, light, diff, exec] = race(
      [
        [...clm, "ps"],
        [...clm, "ps", "--no-drift"],
        [...clm, "diff"],
        [...clm, "host", "exec", "--all", "--", "true"],
      ],
      5,
      env,
    );
    const against = [
      atMost(shown, ps, "clm host exec on the same hosts", exec, 3),
      atMost(compared, diff, "clm ps --no-drift", light, 2),
    ];
    if (!inventory) return [...skipped("ansible-core is not installed"), ...against];
    const asked = playing(setting, inventory, "ask.yaml", statusPlaybook);
    const checked = playing(setting, inventory, "check.yaml", driftPlaybook, "--check");
    return [
      faster(shown, ps, "ansible -f 20 asking unit and health", asked, 4),
      faster(compared, diff, "ansible-playbook --check -f 20", checked, 4),
      ...against,
    ];
  });
}

function playing({ folder, env }, inventory, name, playbook, ...more) {
  const file = join(folder, name);
  writeFileSync(file, playbook);
  // Once: it takes a minute, and varies by a tenth of the ratio at most.
  return time(["ansible-playbook", ...playbookWords, "-i", inventory, "-f", "20", ...more, file], env);
}

const play = `- hosts: all
  become: true
  gather_facts: false
  tasks:
`;

// Less than clm checks: no key, no version, no drift, no channels.
const statusPlaybook = `${play}    - command: systemctl show -p ActiveState,SubState,MainPID,NRestarts hermes-${agent}.service
      changed_when: false
    - uri: { url: "http://127.0.0.1:8642/health" }
`;

// Ansible gets the current content as the desired one, as its own template would render it.
const driftPlaybook = `${play}    - user: { name: ${agent}, shell: /usr/sbin/nologin, password_lock: true }
    - slurp: { src: /home/${agent}/.hermes/.env }
      register: env
    - copy: { dest: /home/${agent}/.hermes/.env, content: "{{ env.content | b64decode }}", owner: ${agent}, mode: "0600" }
    - slurp: { src: /home/${agent}/.hermes/config.yaml }
      register: config
    - copy: { dest: /home/${agent}/.hermes/config.yaml, content: "{{ config.content | b64decode }}", owner: ${agent}, mode: "0600" }
    - slurp: { src: /etc/systemd/system/hermes-${agent}.service }
      register: unit
    - copy: { dest: /etc/systemd/system/hermes-${agent}.service, content: "{{ unit.content | b64decode }}", mode: "0644" }
    - systemd: { name: hermes-${agent}.service, state: started, enabled: true }
`;

const skipped = (note) =>
  [shown, compared].map((what) => ({
    what,
    against: "ansible -f 20",
    goal: ">= 4 x faster",
    note: `skipped: ${note}`,
  }));
