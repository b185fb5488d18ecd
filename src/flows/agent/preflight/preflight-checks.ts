import { type Check, fail, ok, skipped, type Verdict, warn } from "../../../agents/check.js";
import type { Manifest } from "../../../agents/manifest/manifest.js";
import { freePort, objectionTo, type PortQuestion } from "../../../agents/plan/ports.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import type { Facts } from "../../../remote/facts.js";
import { judge } from "../../host/check.js";
import type { Installation, PreflightObservation } from "./preflight-probe.js";

const rename = "choose another name with --name";

/** Without an observation, for which it takes root, the checks that judge it are skipped. */
export function preflightChecks(
  installation: Installation,
  facts: Facts,
  observation: PreflightObservation | undefined,
): Check[] {
  const { agent } = installation;
  const judged = (id: string, judge: (installation: Installation, seen: PreflightObservation) => Verdict): Check => ({
    id,
    ...(observation ? judge(installation, observation) : skipped("needs sudo")),
  });
  return [
    ...judgeSystem(agent, facts),
    ...Object.keys(agent.manifest.requires.programs).map((name) => judged(`program.${name}`, judgeProgram(name))),
    judged("user", judgeUser),
    judged("unit", judgeUnit),
    judged("port", judgePort),
    judged("reach", judgeReach),
  ];
}

const judgeSystem = ({ manifest: { requires } }: ResolvedAgent, facts: Facts): Check[] =>
  judge(facts, { ...requires, disk_min_mb: requires.disk_mb / 8 }).filter(({ id }) => id !== "system.state");

const judgeProgram =
  (program: string) =>
  ({ agent, packages }: Installation, observation: PreflightObservation): Verdict => {
    const { requires } = agent.manifest;
    if (observation.programs.includes(program)) return ok("there");
    const name = requires.programs[program] ?? program;
    const fix = aptCommand(missingPackages(requires, observation));
    return packages ? warn(`missing; comes with the package ${name}`, fix) : fail("missing", fix);
  };

export function missingPackages({ programs }: Manifest["requires"], observation: PreflightObservation): string[] {
  const missing = Object.entries(programs).filter(([program]) => !observation.programs.includes(program));
  return [...new Set(missing.map(([, name]) => name))];
}

export const aptCommand = (packages: string[]): string => `sudo apt-get install -y ${packages.join(" ")}`;

function judgeUser(
  { agent: { user, paths }, comment, begun }: Installation,
  { account, group, home: homeThere }: PreflightObservation,
): Verdict {
  if (account && account.comment === comment) return ok(`${user} is the account clm made`);
  if (account) return fail(`${user} is an account that this clm has no record of`, rename);
  // A new account would get the rights of the group, and its removal would remove the group.
  if (group && !(comment && begun && group === "empty")) {
    const what = `there is a group called ${user} on the host`;
    return group === "used"
      ? fail(what, rename)
      : // Probably left of a removed account, but the user has to decide.
        fail(`${what}; it has no members, and clm cannot determine its owner`, `sudo groupdel ${user}`);
  }
  if (homeThere) return fail(`there is no account ${user}, but ${paths.home} exists`, rename);
  return ok(`${user} is free`);
}

function judgeUnit({ agent: { user, unit }, comment }: Installation, observation: PreflightObservation): Verdict {
  if (!observation.unit) return ok(`${unit} is free`);
  // The record says that clm made one here, and the file is for this user.
  if (comment && observation.unit.user === user) return ok(`${unit} is the unit clm made`);
  return fail(`${observation.unit.path} is a unit that this clm has no record of`, rename);
}

function judgePort(installation: Installation, observation: PreflightObservation): Verdict {
  const question = portQuestion(installation, observation);
  const { first, last } = question.range;
  const port = installation.port ?? freePort(question);
  const objection = port === undefined ? `every port from ${first} to ${last} is taken` : objectionTo(port, question);
  return objection ? fail(objection, "choose another with --port") : ok(`${port} is free`);
}

/** The ports in use, apart from those of the agent itself. */
export function portQuestion(
  { ports, comment }: Installation,
  { account, listening }: PreflightObservation,
): PortQuestion {
  return { ...ports, listening, ...(account && account.comment === comment && { uid: account.uid }) };
}

/** A warning at most: the host may have a proxy or a mirror that clm does not know. */
function judgeReach({ reach }: Installation, observation: PreflightObservation): Verdict {
  if (reach.length === 0) return skipped("the installer needs nothing from elsewhere");
  const tried = reach.filter((url) => observation.reach[url] !== undefined);
  if (tried.length === 0) return skipped("there is no curl to try with");
  const unreachable = tried.filter((url) => !observation.reach[url]);
  if (unreachable.length === 0) return ok(`answers: ${tried.join(", ")}`);
  return warn(`no answer: ${unreachable.join(", ")}`, "the installer will most likely fail without it");
}
