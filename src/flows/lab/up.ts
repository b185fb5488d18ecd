import { Fault } from "../../errors.js";
import { fingerprint } from "../../fingerprint.js";
import { type Lab, type LabHost, type LabWish, mustBePossible, up } from "../../lab/lab.js";
import { inParallel } from "../../limit.js";
import { readPins } from "../../remote/host-keys/pins.js";
import type { Host } from "../../state/hosts.js";
import { addHost } from "../host/add.js";
import { forgetHost } from "../host/remove.js";
import { keyPair } from "../keypair.js";
import type { Session } from "../session.js";
import { labOf } from "./ours.js";
import { writeOverlay } from "./overlay.js";

// Each is a connection of its own, and a lab may have hundreds.
const addedAtOnce = 16;

/** Lab up: real hosts run on this machine, and the fleet knows them as it would know any others. */
export async function labUp(session: Session, wish: LabWish): Promise<Lab | undefined> {
  const { configDir, ui, signal, gate } = session;
  await mustBePossible(wish);
  mustBeFree(session, wish);
  const called = wish.hosts === 1 ? `${wish.name}-1` : `${wish.name}-1 to ${wish.name}-${wish.hosts}`;
  const deed = { verb: "lab up", target: wish.name, summary: `bring up ${called}` };
  return gate.pass(deed, async () => {
    const { identity, publicKey } = await keyPair(configDir, "lab");
    const progress = ui.progress(`lab ${wish.name}`);
    try {
      const lab = await up({
        ...wish,
        authorizedKey: publicKey,
        signal,
        progress: (message) => progress.update(message),
        output: (line) => progress.output(line),
      });
      progress.update("adding the hosts to the fleet");
      await writeOverlay(configDir);
      await inParallel(lab.hosts, addedAtOnce, (host) => register(session, lab, host, identity));
      // Another lab that went down in the meantime may have been the last one it knew of.
      await writeOverlay(configDir);
      progress.done(`lab ${wish.name}: ${lab.hosts.length} host${lab.hosts.length === 1 ? "" : "s"} up`);
      return lab;
    } catch (error) {
      progress.fail();
      throw error;
    }
  });
}

async function register(session: Session, lab: Lab, host: LabHost, identity: string): Promise<void> {
  for (const { name, address } of knownAs(session, lab, host)) {
    const pins = await readPins(session.configDir, name);
    if (address === host.address && pins.some((key) => fingerprint(key.blob) === host.fingerprint)) return;
    await forgetHost(session, name);
  }
  await addHost(session, {
    name: host.name,
    address: host.address,
    user: host.user,
    identity,
    fingerprint: host.fingerprint,
    labels: { lab: lab.name },
  });
}

/** What the fleet has where this host is, under whatever name, or under its name where none of the lab is any more. */
function knownAs({ configDir, hosts }: Session, lab: Lab, { name, address }: LabHost): Host[] {
  const known = hosts.read().hosts.filter((host) => labOf(host, configDir) === lab.name);
  const isStale = (host: Host) => host.name === name && !lab.hosts.some((each) => each.address === host.address);
  return known.filter((host) => host.address === address || isStale(host));
}

/** A host of the user's own must not be taken for one of the lab's. */
function mustBeFree({ configDir, hosts: fleet }: Session, { name, hosts }: LabWish): void {
  const wanted = new Set(Array.from({ length: hosts }, (_, at) => `${name}-${at + 1}`));
  const taken = fleet.read().hosts.find((host) => wanted.has(host.name) && labOf(host, configDir) !== name);
  if (!taken) return;
  throw new Fault("already-exists", `the fleet has a host called ${taken.name} that is not a lab host`, {
    why: `it is at ${taken.address}`,
    next: "clm lab up --name OTHER",
  });
}
