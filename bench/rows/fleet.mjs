import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { ansibleInventory, onLab, sshTrue } from "../lab.mjs";
import { atMost, clm, faster, race } from "../measure.mjs";

const lab = { name: "bench", hosts: 20 };

/** One command on twenty hosts, compared with Ansible with twenty forks and with OpenSSH on one host. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages()) return [skipped("lab hosts need root")];
  return onLab(lab, (setting) => {
    const question = "uname -r";
    const clmAsks = [...clm, "host", "exec", "--all", "-o", "json", "--", ...question.split(" ")];
    const clmAsksOne = [...clm, "host", "exec", setting.fleet[0].name, "-o", "json", "--", "true"];
    const [all, one, floor] = race([clmAsks, clmAsksOne, sshTrue(setting)], 7, setting.env);
    return [
      atMost("one host asked", one, "ssh host true", floor, 3),
      atMost("20 hosts asked", all, "ssh host true (one host)", floor, 10),
      ...againstAnsible(all, question, setting),
    ];
  });
}

function againstAnsible(ms, question, setting) {
  const inventory = ansibleInventory(setting);
  if (!inventory) return [skipped("ansible-core is not installed")];
  const ansible = (module) => ["ansible", "-i", inventory, "-f", "20", "all", "-m", module, "-a", question];
  const [command, raw] = race([ansible("command"), ansible("raw")], 3, setting.env);
  return [
    faster("20 hosts asked", ms, "ansible -f 20 -m command", command, 4),
    // Without Ansible's modules: only its processes and their SSH connections.
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
