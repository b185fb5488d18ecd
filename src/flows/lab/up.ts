import { Fault } from "../../errors.js";
import { type Lab, type LabHost, up } from "../../lab/lab.js";
import { fingerprint } from "../../remote/host-keys/key.js";
import { readPins } from "../../remote/host-keys/pins.js";
import { type Host, hostStore } from "../../state/hosts.js";
import { addHost } from "../host/add.js";
import { forgetHost } from "../host/remove.js";
import { keyPair } from "../keypair.js";
import type { Session } from "../session.js";

export interface LabWish {
  name: string;
  hosts: number;
  release: "bookworm" | "trixie";
  internet: boolean;
}

/** Lab up: real hosts run on this machine, and the fleet knows them as it would know any others. */
export async function labUp(session: Session, wish: LabWish): Promise<Lab | undefined> {
  const { configDir, ui, signal, gate } = session;
  mustBeOurs(hostStore(configDir).read().hosts, wish);
  const deed = { verb: "lab up", target: wish.name, summary: `bring up ${wish.hosts} lab hosts called ${wish.name}-N` };
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
      await Promise.all(lab.hosts.map((host) => register(session, lab, host, identity)));
      progress.done(`lab ${wish.name}: ${lab.hosts.length} host${lab.hosts.length === 1 ? "" : "s"} up`);
      return lab;
    } catch (error) {
      progress.fail();
      throw error;
    }
  });
}

async function register(session: Session, lab: Lab, host: LabHost, identity: string): Promise<void> {
  const known = hostStore(session.configDir)
    .read()
    .hosts.find(({ name }) => name === host.name);
  const pins = await readPins(session.configDir, host.name);
  const same = known?.address === host.address && pins.some((key) => fingerprint(key.blob) === host.fingerprint);
  if (same) return;
  if (known) await forgetHost(session, host.name);
  await addHost(session, {
    name: host.name,
    address: host.address,
    user: host.user,
    identity,
    fingerprint: host.fingerprint,
    labels: { lab: lab.name },
  });
}

/** A host of the user's own must not be taken for one of the lab's. */
function mustBeOurs(known: Host[], { name, hosts }: LabWish): void {
  const wanted = new Set(Array.from({ length: hosts }, (_, at) => `${name}-${at + 1}`));
  const taken = known.find((host) => wanted.has(host.name) && host.labels.lab !== name);
  if (!taken) return;
  throw new Fault("already-exists", `the fleet has a host called ${taken.name} that is not a lab host`, {
    why: `it is at ${taken.address}`,
    next: "clm lab up --name OTHER",
  });
}
