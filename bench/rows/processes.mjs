import { spawnSync } from "node:child_process";
import { ensurePackages, ensureRoot } from "../../scripts/setup.mjs";
import { agent, agentsInPlace, onLab, sshTrue } from "../lab.mjs";
import { atMost, clm, race, time } from "../measure.mjs";
import { sized } from "../size.mjs";

const lab = { name: "benchproc", hosts: 1 };
const rounds = sized(5, 1);

/** Each command with the maximum number of processes that it may start on a host with one agent. */
const commands = [
  ["ps", 60],
  ["ps --no-drift", undefined],
  [`agent diff ${agent}`, 45],
  [`agent configure ${agent} --provider echo`, 50],
];

/** The processes that a command starts on the agent's host, compared with those of `ssh host true`. */
export async function measure() {
  if (!ensureRoot("npm run bench") || !ensurePackages())
    return [{ what: "processes", against: "ssh host true", goal: "-", note: "skipped: lab hosts need root" }];
  return onLab(lab, (setting) => {
    agentsInPlace(setting);
    const [ms, peerMs] = race([[...clm, "ps"], sshTrue(setting)], 9, setting.env);
    const floor = startedBy(sshTrue(setting), setting);
    const counts = commands.map(([words, most]) => {
      const count = startedBy([...clm, ...words.split(" ")], setting);
      return {
        what: `clm ${words}`,
        told: `${count} processes`,
        against: "ssh host true",
        peerTold: `${floor} processes`,
        ratio: `${(count / floor).toFixed(1)} x`,
        goal: most ? `<= ${most}` : "-",
        met: most && count <= most,
      };
    });
    return [atMost("ps of one agent", ms, "ssh host true", peerMs, 2), ...counts];
  });
}

/** The smallest count of several rounds: the host's own services start processes now and then. */
function startedBy(command, setting) {
  const counts = Array.from({ length: rounds }, () => {
    const before = lastProcess(setting);
    time(command, setting.env);
    // The measurement itself is one process.
    return lastProcess(setting) - before - 1;
  });
  // Process numbers wrap around, which makes a difference negative.
  return Math.min(...counts.filter((count) => count > 0));
}

/**
 * The id of the last started process or thread. A lab host has its own ids, so other processes on this machine do not
 * matter; `processes` in /proc/stat would count them too.
 */
function lastProcess({ env, fleet: [host] }) {
  const words = [...clm.slice(1), "lab", "exec", host.name, "--", "cat", "/proc/loadavg"];
  const { status, stdout, stderr } = spawnSync(clm[0], words, { env: { ...process.env, ...env }, encoding: "utf8" });
  if (status !== 0) throw new Error(`the last process of ${host.name} is not known: ${stderr}`);
  return Number(stdout.trim().split(" ").at(-1));
}
