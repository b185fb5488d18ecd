import { randomBytes } from "node:crypto";
import { accountComment } from "../../../agents/mark.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Connection } from "../../../remote/connection.js";
import { beating, leash, letGo } from "../../../remote/leash.js";
import { converse, newNonce } from "../../../remote/operations/conversation.js";
import { titleOf } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import type { Target } from "../target.js";
import library from "./leash.sh?raw";

/** What holds everything that is run in the agents of one host. It is there before the first begins. */
export interface Leash {
  /** A name for the next unit. */
  unit(): string;
  /** A file that is there as long as units may begin. */
  sign: string;
  /** Whether the agent has a `.env`; a fault when its account is not one to run anything in. */
  hasEnv(target: Target): boolean;
  /** Throws when the host took us for gone, and ended all of it: then how something ended means nothing. */
  mustHold(): void;
  /** Lets go: what still runs is ended, unless all is known to be done. */
  end(how: "done" | "stop"): Promise<void>;
}

// A command that is told to end has five seconds for it.
const patience = 10_000;

/** One exec: looks at the accounts, and stays. */
export async function leashOn(session: Session, connection: Connection, targets: Target[]): Promise<Leash> {
  const nonce = newNonce();
  const id = randomBytes(6).toString("hex");
  const sign = `/run/clm/exec-${id}`;
  const looks = targets.map(({ agent: { record }, subject: { places } }) => {
    const comment = record.mark ? accountComment(record.mark) : "";
    return sh`look ${[record.user, comment, places.data, places.env]}`;
  });
  const hold = sh`hold ${sign} ${`clm-exec-${id}-*.service`}`;
  const script = [leash, library, sh`nonce=${nonce}`, ...looks, hold, ""].join("\n");
  // Not with our signal: it is what ends the others, and has to outlive them.
  const host = await converse(connection.as("root"), nonce, script);
  host.allow(30_000);
  const seen: string[] = [];
  for (let word = await host.next(); word !== "held"; word = await host.next()) seen.push(word);
  host.allow();
  const stopBeating = beating((byte) => host.say(byte));
  let count = 0;
  let lost = false;
  host.next().then(
    (word) => {
      lost = word === "lost";
    },
    // Who lost the connection learns it elsewhere.
    () => {},
  );
  return {
    unit: () => `clm-exec-${id}-${count++}.service`,
    sign,
    hasEnv: (target) => {
      const how = seen[targets.indexOf(target)] ?? "";
      if (how !== "env" && how !== "bare") throw notForUs(target, how);
      return how === "env";
    },
    mustHold() {
      if (lost) throw takenForGone(connection.target.name);
    },
    async end(how) {
      stopBeating();
      if (how === "done") host.say(letGo);
      const told = host.hangUp();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patience);
      });
      await Promise.race([told, late]);
      clearTimeout(timer);
      session.ui.debug(`let go of ${connection.target.name}`);
    },
  };
}

const takenForGone = (host: string): Fault =>
  new Fault("connection-lost", `${host} heard nothing of clm for too long, and ended what it ran`, {
    why: "clm was stopped for a while, or the network was cut",
    next: `clm host check ${host}`,
  });

function notForUs({ agent, subject }: Target, how: string): Fault {
  const { record, host, word } = agent;
  const why = "nothing was run";
  if (how === "no-user") {
    return new Fault("not-found", `there is no user ${record.user} on ${host.name} any more`, {
      why,
      next: `clm agent show ${word}`,
    });
  }
  if (how === "stranger") {
    return new Fault(
      "not-found",
      `the user ${record.user} on ${host.name} is not the one clm made for ${titleOf(agent)}`,
      { why, next: `clm agent show ${word}` },
    );
  }
  return new Fault("remote-failed", `${subject.places.env} on ${host.name} is not a file of the agent's own`, {
    why: [how === "link" ? "a link is in its place" : "something else is in its place", why],
    next: `clm agent doctor ${word}`,
  });
}
