import { once } from "node:events";
import { startImpostor } from "./fake-sshd.js";

// Runs in the lab host's network namespace: prints its fingerprint, and at the end of stdin what it received.
const impostor = await startImpostor({ address: "0.0.0.0", port: 22 });
const tell = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
tell({ fingerprint: impostor.fingerprint });
process.stdin.resume();
await once(process.stdin, "end");
// Only packets sent before the end of all connections are surely counted.
await impostor.close();
tell({ connections: impostor.connections(), authentications: impostor.authAttempts() });
