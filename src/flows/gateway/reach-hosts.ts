import { asFault } from "../../errors.js";
import { run } from "../../remote/run.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

/**
 * Connects to every host with an agent before the first request: passwords are asked for now, and no request waits for a
 * handshake. A host that does not answer is warned about, and tried again when it is needed.
 */
export async function reachHosts(session: Session): Promise<void> {
  const hosts = session.hosts.read().hosts.filter(({ agents }) => Object.keys(agents).length > 0);
  await Promise.all(
    hosts.map((host) =>
      reach(session, host).catch((error) => {
        session.signal.throwIfAborted();
        const { message, code } = asFault(error);
        session.ui.warn(`${message} [${code}]`);
      }),
    ),
  );
}

async function reach({ pool, signal }: Session, host: Host): Promise<void> {
  const connection = await pool.connect(host);
  if (host.sudo === "password") await run(connection.as("root"), "true", { timeout: 30_000, signal });
}
