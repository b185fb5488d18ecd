import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Server, utils } from "ssh2";
import { newPrivateKey } from "../../src/flows/keypair.js";
import { type HostKey, hostKeyFrom } from "../../src/remote/host-keys/key.js";
import { fingerprint } from "../../src/text/fingerprint.js";

/** An SSH server at a host's address with another key. */
export interface Impostor {
  key: HostKey;
  fingerprint: string;
  address: string;
  port: number;
  connections(): number;
  /** The number of authentication packets received, including the first service request. */
  authAttempts(): number;
  /** The packets counted by `authAttempts`, for the message of a failed test. */
  authPackets(): string[];
  /** Ends all connections, after counting everything sent before. */
  close(): Promise<void>;
}

export interface ImpostorOptions {
  address?: string;
  /** Any free port by default. */
  port?: number;
  keyType?: "ed25519" | "ecdsa" | "rsa";
}

const privateKeyOf = {
  ed25519: () => newPrivateKey("impostor"),
  ecdsa: () => utils.generateKeyPairSync("ecdsa", { bits: 256 }).private,
  rsa: () => utils.generateKeyPairSync("rsa", { bits: 2048 }).private,
};

// The 'authentication' event is late: ssh2 raises it only for a well-formed USERAUTH_REQUEST after an accepted
// SERVICE_REQUEST. Its debug lines show every packet as it is decrypted.
const authPacket = /^\[[\d.]+\] Inbound: (?:Received|Malformed) ((?:SERVICE_REQUEST|USERAUTH_)\S*.*)$/;

/** Starts a server that completes any handshake, refuses every login, and records the attempts. */
export async function startImpostor({
  address = "127.0.0.1",
  port = 0,
  keyType = "ed25519",
}: ImpostorOptions = {}): Promise<Impostor> {
  const privateKey = privateKeyOf[keyType]();
  const parsed = utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  const key = hostKeyFrom(parsed.getPublicSSH());
  const packets: string[] = [];
  let connections = 0;

  const note = (line: string) => {
    const [, packet] = authPacket.exec(line) ?? [];
    if (packet !== undefined) packets.push(packet);
  };
  const open = new Set<{ end(): void }>();
  const server = new Server({ hostKeys: [privateKey], debug: note }, (client) => {
    connections++;
    open.add(client);
    client.on("close", () => open.delete(client));
    client.on("error", () => {});
    client.on("authentication", (login) => login.reject(["publickey", "password", "keyboard-interactive"]));
  });
  server.listen(port, address);
  await once(server, "listening");

  async function stop(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    for (const client of open) client.end();
    await closed;
  }
  let closing: Promise<void> | undefined;

  return {
    key,
    fingerprint: fingerprint(key.blob),
    address,
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    authAttempts: () => packets.length,
    authPackets: () => [...packets],
    close() {
      closing ??= stop();
      return closing;
    },
  };
}
