import { inParallel } from "../../async/limit.js";
import { Fault } from "../../errors.js";
import { addHost } from "../../flows/host/add.js";
import { forgetHost } from "../../flows/host/forget.js";
import { keyPair } from "../../flows/keypair.js";
import type { Session } from "../../flows/session.js";
import { withProgress } from "../../flows/with-progress.js";
import { type Lab, type LabHost, type LabOptions, labNameFrom, mustBePossible, up as startLab } from "../../lab/lab.js";
import { hostNameFrom } from "../../names.js";
import { readPins } from "../../remote/host-keys/pins.js";
import type { Host } from "../../state/hosts.js";
import { fingerprint } from "../../text/fingerprint.js";
import type { Handler } from "../command.js";
import type { up } from "./commands.js";
import { labOf } from "./lab-of-host.js";
import { writeOverlay } from "./overlay.js";
import { labRows, labView } from "./status.js";

export const run: Handler<typeof up> = async ({ options }, clm) => {
  // An interrupted command first removes the containers and mounts of the unfinished lab.
  clm.mayTakeToStop(60_000);
  const { hosts, release, internet } = options;
  const request = { name: labNameFrom(options.name), hosts, release, internet };
  const lab = await clm.withSession((session) => labUp(session, request));
  if (lab) clm.list(labRows(lab), labView);
};

// Every host needs a connection, and a lab may have hundreds.
const addedAtOnce = 16;

async function labUp(session: Session, request: LabOptions): Promise<Lab | undefined> {
  const { configDir, ui, signal, gate } = session;
  await mustBePossible(request);
  mustBeFree(session, request);
  const names = request.hosts === 1 ? `${request.name}-1` : `${request.name}-1 to ${request.name}-${request.hosts}`;
  return gate.pass({ verb: "lab up", target: request.name, summary: `bring up ${names}` }, async () => {
    const { identity, publicKey } = await keyPair(configDir, "lab");
    return withProgress(ui, `lab ${request.name}`, async (progress) => {
      const lab = await startLab({ ...request, authorizedKey: publicKey, signal, progress });
      progress.update("adding the hosts to the fleet");
      await writeOverlay(configDir);
      await inParallel(lab.hosts, addedAtOnce, (host) => register(session, lab, host, identity));
      // A lab that went down meanwhile may have been the last one it knew, and removed the overlay.
      await writeOverlay(configDir);
      progress.done(`lab ${request.name}: ${lab.hosts.length} host${lab.hosts.length === 1 ? "" : "s"} up`);
      return lab;
    });
  });
}

async function register(session: Session, lab: Lab, host: LabHost, identity: string): Promise<void> {
  for (const { name, address } of outdatedRecords(session, lab, host)) {
    const pins = await readPins(session.configDir, name);
    if (address === host.address && pins.some((key) => fingerprint(key.blob) === host.fingerprint)) return;
    await forgetHost(session, name);
  }
  await addHost(session, {
    name: hostNameFrom(host.name),
    address: host.address,
    user: host.user,
    identity,
    fingerprint: host.fingerprint,
    labels: { lab: lab.name },
  });
}

/** Records of this lab at the host's address (under any name), or under its name at an address the lab no longer uses. */
function outdatedRecords({ configDir, hosts }: Session, lab: Lab, { name, address }: LabHost): Host[] {
  const known = hosts.read().hosts.filter((host) => labOf(host, configDir) === lab.name);
  const isStale = (host: Host) => host.name === name && !lab.hosts.some((each) => each.address === host.address);
  return known.filter((host) => host.address === address || isStale(host));
}

/** The user's own hosts must not be mistaken for lab hosts. */
function mustBeFree({ configDir, hosts: fleet }: Session, { name, hosts }: LabOptions): void {
  const wanted = new Set(Array.from({ length: hosts }, (_, at) => `${name}-${at + 1}`));
  const taken = fleet.read().hosts.find((host) => wanted.has(host.name) && labOf(host, configDir) !== name);
  if (!taken) return;
  throw new Fault("already-exists", `the fleet has a host called ${taken.name} that is not a lab host`, {
    why: `it is at ${taken.address}`,
    next: "clm lab up --name OTHER",
  });
}
