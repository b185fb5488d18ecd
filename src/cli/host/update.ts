import { Fault, isFault } from "../../errors.js";
import { factsToRecord } from "../../flows/host/facts-to-record.js";
import type { Session } from "../../flows/session.js";
import { labelsFrom } from "../../names.js";
import { sh } from "../../quote.js";
import { findHost, type Host } from "../../state/hosts.js";
import { defined } from "../../text/defined.js";
import type { Handler } from "../command.js";
import type { update } from "./commands.js";
import { identityFrom } from "./options.js";
import { hostView } from "./view.js";

export const run: Handler<typeof update> = async ({ args: { name }, options }, clm) => {
  const { address, port, user, offline, removeLabel } = options;
  const settings = defined({ address, port, user, identity: identityFrom(options.identity) });
  const addedLabels = Object.fromEntries(labelsFrom(options.label));
  await clm.withSession(async (session) => {
    const before = findHost(session.hosts.read().hosts, name);
    const facts = offline ? {} : await readAgain(session, { ...before, ...settings });
    const changed = (host: Host): Host => {
      const labels = { ...host.labels, ...addedLabels };
      for (const key of removeLabel) delete labels[key];
      return { ...host, ...settings, ...facts, labels };
    };
    await session.gate.pass({ verb: "host update", target: name, summary: `update host ${name}` }, () =>
      session.hosts.update((fleet) => {
        findHost(fleet.hosts, name);
        return { ...fleet, hosts: fleet.hosts.map((host) => (host.name === name ? changed(host) : host)) };
      }),
    );
    clm.list([changed(before)], hostView(clm.now()));
  });
};

/** Connects with the new settings, which proves that they lead to the host with the pinned key, and reads its facts. */
async function readAgain(session: Session, target: Host): Promise<Pick<Host, "facts" | "sudo">> {
  const connection = await session.pool.connect(target).catch((error) => {
    if (isFault(error, "unreachable")) error.next.push(sh`clm ${session.argv} --offline`);
    if (isFault(error, "host-key-changed")) throw otherMachine(target, error);
    throw error;
  });
  return factsToRecord(session, connection);
}

function otherMachine({ name, address }: Host, { why, data }: Fault): Fault {
  return new Fault("host-key-changed", `the machine at ${address} does not have the key of ${name}`, {
    why,
    next: `clm host show ${name}`,
    data,
  });
}
