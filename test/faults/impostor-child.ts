import { once } from "node:events";
import { startImpostor } from "./fake-sshd.js";

// Runs in the lab host's network namespace: says its fingerprint, and when its stdin ends, what it has seen.
const impostor = await startImpostor({ address: "0.0.0.0", port: 22 });
const tell = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
tell({ fingerprint: impostor.fingerprint });
process.stdin.resume();
await once(process.stdin, "end");
// Only what was sent before the end of all connections has surely been counted.
await impostor.close();
tell({ connections: impostor.connections(), authentications: impostor.authAttempts() });
