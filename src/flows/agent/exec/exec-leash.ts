import { randomBytes } from "node:crypto";
import { accountComment } from "../../../agents/plan/account.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Connection } from "../../../remote/connection.js";
import { beating, leash, letGo } from "../../../remote/leash.js";
import { converse } from "../../../remote/operations/conversation.js";
import { newNonce } from "../../../remote/stdin-script.js";
import type { Session } from "../../session.js";
import { accountFault } from "../run-as-agent.js";
import type { AgentTarget } from "../target.js";
import library from "./exec-leash.sh?raw";

/** The dead man's switch of everything that clm runs in the agents of one host. Set before the first command starts. */
export interface Leash {
  unit(): string;
  /** A file that exists as long as new units may start. */
  sign: string;
  /** Whether the agent has a `.env`; throws when its account is missing or not the one clm made. */
  hasEnv(target: AgentTarget): boolean;
  /** Throws when the host lost contact and ended the units: then exit codes mean nothing. */
  mustHold(): void;
  /** Ends units that still run, unless everything is known to be done. */
  end(how: "done" | "stop"): Promise<void>;
}

/** Works in one agent. What was started there is ended, unless the work was done to its end. */
export async function onLeash<T>(
  session: Session,
  target: AgentTarget,
  work: (leash: Leash, connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await session.pool.connect(target.agent.host);
  const leash = await leashOn(session, connection, [target]);
  let how: "done" | "stop" = "stop";
  try {
    const result = await work(leash, connection);
    how = "done";
    return result;
  } finally {
    await leash.end(how);
  }
}

/** One exec: checks the accounts, then stays connected. */
export async function leashOn(session: Session, connection: Connection, targets: AgentTarget[]): Promise<Leash> {
  const nonce = newNonce();
  const id = randomBytes(6).toString("hex");
  const sign = `/run/clm/exec-${id}`;
  const checks = targets.map(({ agent: { record }, resolved: { paths } }) => {
    return sh`check_account ${[record.user, record.mark ? accountComment(record.mark) : "", paths.data, paths.env]}`;
  });
  const hold = sh`hold ${sign} ${`clm-exec-${id}-*.service`}`;
  const script = [leash, library, sh`nonce=${nonce}`, ...checks, hold, ""].join("\n");
  // Without our abort signal: it ends the commands, so it must outlive them.
  const host = await converse(connection.as("root"), nonce, script);
  host.setTimeLimit(30_000);
  const seen: string[] = [];
  for (let ref = await host.next(); ref !== "held"; ref = await host.next()) seen.push(ref);
  host.setTimeLimit();
  const stopBeating = beating((byte) => host.say(byte));
  let count = 0;
  let lost = false;
  host.next().then(
    (ref) => {
      lost = ref === "lost";
    },
    // A lost connection is reported by the commands.
    () => {},
  );
  return {
    unit: () => `clm-exec-${id}-${count++}.service`,
    sign,
    hasEnv: (target) => {
      const how = seen[targets.indexOf(target)] ?? "";
      if (how !== "env" && how !== "no-env") throw notForUs(target, how);
      return how === "env";
    },
    mustHold() {
      if (lost) throw lostContact(connection.target.name);
    },
    async end(how) {
      stopBeating();
      if (how === "done") host.say(letGo);
      await host.hangUp();
      session.ui.debug(`let go of ${connection.target.name}`);
    },
  };
}

const lostContact = (host: string): Fault =>
  new Fault("connection-lost", `${host} lost contact with clm and ended the commands that clm ran there`, {
    why: "clm was stopped for a while, or the network was cut",
    next: `clm host check ${host}`,
  });

function notForUs({ agent, resolved }: AgentTarget, how: string): Fault {
  const why = "nothing was run";
  if (how === "no-user" || how === "foreign-user") return accountFault(agent, how, why);
  return new Fault("remote-failed", `${resolved.paths.env} on ${agent.host.name} is not a regular file`, {
    why: [how === "link" ? "it is a symbolic link" : "it is something else", why],
    next: `clm agent doctor ${agent.ref}`,
  });
}
