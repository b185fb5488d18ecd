import { down } from "../../lab/lab.js";
import { hostStore } from "../../state/hosts.js";
import { forgetHost } from "../host/remove.js";
import type { Session } from "../session.js";

/** Lab down: the lab's hosts are gone from this machine and from the fleet, also when an earlier run was cut short. */
export async function labDown(session: Session, name: string): Promise<void> {
  const { configDir, gate, ui } = session;
  await gate.pass({ verb: "lab down", target: name, summary: `take down lab ${name}` }, async () => {
    const progress = ui.progress(`lab ${name}`);
    try {
      await down(name, (message) => progress.update(message));
      const { hosts } = hostStore(configDir).read();
      for (const host of hosts) if (host.labels.lab === name) await forgetHost(session, host.name);
      progress.done(`lab ${name}: down`);
    } catch (error) {
      progress.fail();
      throw error;
    }
  });
}
