import text from "../../../templates/hermes/hermes.service.hbs?raw";
import { fileTemplate } from "../files/file-template.js";
import { unitArgument, unitPath, unitWord } from "../files/systemd-quote.js";
import { runsOnCodex } from "../hermes/codex/runtime.js";
import { environmentOf } from "./environment.js";
import type { ResolvedAgent } from "./resolved-agent.js";

const template = fileTemplate<Record<string, unknown>>(text, { word: unitWord, path: unitPath });

/** What closes the service in: the directive, the systemd that first knew it, and what Chromium's or Codex' sandbox needs instead. */
interface Bolt {
  directive: string;
  since: number;
  browser?: "nothing";
  /** Codex' sandbox makes namespaces and mounts in them (seen with 0.130 and 0.166, on systemd 252 and 257). */
  codex?: "nothing" | string[];
}

const bolts = (home: string): Bolt[] => [
  { directive: "NoNewPrivileges=yes", since: 187 },
  { directive: "CapabilityBoundingSet=", since: 1 },
  { directive: "AmbientCapabilities=", since: 229 },
  { directive: "PrivateTmp=yes", since: 1 },
  { directive: "PrivateDevices=yes", since: 209, browser: "nothing" },
  { directive: "ProtectSystem=strict", since: 232 },
  { directive: "ProtectHome=tmpfs", since: 239 },
  { directive: `BindPaths=${unitWord(home)}`, since: 233 },
  { directive: "ProtectKernelTunables=yes", since: 232 },
  { directive: "ProtectKernelModules=yes", since: 232 },
  { directive: "ProtectKernelLogs=yes", since: 244 },
  { directive: "ProtectControlGroups=yes", since: 232 },
  { directive: "ProtectClock=yes", since: 245 },
  { directive: "ProtectHostname=yes", since: 242 },
  { directive: "ProtectProc=invisible", since: 247 },
  { directive: "ProcSubset=pid", since: 247, browser: "nothing", codex: "nothing" },
  { directive: "LockPersonality=yes", since: 235 },
  { directive: "RestrictRealtime=yes", since: 231 },
  { directive: "RestrictSUIDSGID=yes", since: 242 },
  {
    directive: "RestrictNamespaces=yes",
    since: 233,
    browser: "nothing",
    codex: ["RestrictNamespaces=user mnt pid net ipc"],
  },
  { directive: "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", since: 211 },
  { directive: "SystemCallArchitectures=native", since: 209 },
  {
    directive: "SystemCallFilter=@system-service",
    since: 231,
    browser: "nothing",
    // A call that is killed for leaves the sandbox waiting for ever.
    codex: ["SystemCallFilter=@system-service @mount seccomp", "SystemCallErrorNumber=EPERM"],
  },
  { directive: "SystemCallFilter=~@privileged @resources", since: 231, browser: "nothing", codex: "nothing" },
  { directive: "RemoveIPC=yes", since: 232 },
  { directive: "KeyringMode=private", since: 235 },
];

/** What of an agent decides how it is closed in. */
export type Confined = Pick<ResolvedAgent, "manifest" | "version" | "relaxed" | "runtime" | "paths">;

/** What of the bolts that the host's systemd knows is shut, and what an agent that needs more room goes without. */
function boltsOn(agent: Confined, systemd: number): { shut: string[]; left: string[] } {
  const { relaxed, paths } = agent;
  const known = bolts(paths.home).filter(({ since }) => since <= systemd);
  const insteadOf = ({ directive, browser, codex }: Bolt): string[] => {
    if (relaxed && browser === "nothing") return [];
    if (codex === undefined || !runsOnCodex(agent)) return [directive];
    return codex === "nothing" ? [] : codex;
  };
  const left = known.filter((bolt) => !insteadOf(bolt).includes(bolt.directive));
  return { shut: known.flatMap(insteadOf), left: left.map(({ directive }) => directive) };
}

/** What closes the agent's service in, for something else of the agent's that is to be closed in alike. */
export const hardeningOf = (agent: Confined, systemd: number): string[] => boltsOn(agent, systemd).shut;

/** The agent's unit, with no more than the host's systemd understands. */
export function unitFile(agent: ResolvedAgent, systemd: number): string {
  const { manifest, name, user, unit, relaxed, paths } = agent;
  const { shut, left } = boltsOn(agent, systemd);
  return template({
    unit,
    description: `${manifest.title} ${name}`.replaceAll("%", "%%"),
    user,
    home: paths.home,
    data: paths.data,
    env: paths.env,
    environment: Object.entries(environmentOf(agent)).map(([key, value]) => `${key}=${value}`),
    command: [unitWord(paths.launcher), ...manifest.unit.args.map(unitArgument)].join(" "),
    relaxed,
    codex: runsOnCodex(agent),
    left: [...new Set(left.map((directive) => directive.replace(/=.*/, "")))].join(", "),
    hardening: shut,
  });
}
