import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Client, type ConnectConfig } from "ssh2";
import { afterEach, describe, expect, test } from "vitest";
import { preferredAlgorithms } from "../../../../src/remote/host-keys/algorithms.js";
import { pin } from "../../../../src/remote/host-keys/pins.js";
import { type Impostor, type ImpostorOptions, startImpostor } from "../../../faults/fake-sshd.js";
import { key, scratch } from "./cases.js";

const started: Impostor[] = [];
afterEach(() => Promise.all(started.splice(0).map((impostor) => impostor.close())));

async function impostor(options: ImpostorOptions = {}): Promise<Impostor> {
  const one = await startImpostor(options);
  started.push(one);
  return one;
}

/** Tries to log in with ssh2 and comes back when the connection has ended. */
async function tryLogin({ address, port }: Impostor, config: Partial<ConnectConfig>): Promise<void> {
  const client = new Client();
  client.on("error", () => {});
  const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
  client.connect({ host: address, port, username: "me", password: "a password", ...config });
  await closed;
}

describe("the impostor used by the tests of trust", () => {
  test("sees every login attempt", async () => {
    const host = await impostor();
    await tryLogin(host, {});
    expect(host.connections()).toBe(1);
    expect(host.authPackets()).toContain("SERVICE_REQUEST (ssh-userauth)");
    expect(host.authPackets().join()).toContain("USERAUTH_REQUEST (password)");
    expect(host.authAttempts()).toBe(host.authPackets().length);
  });

  test("sees only a connection from a client that checks the key first", async () => {
    const host = await impostor();
    let shown: Buffer | undefined;
    const hostVerifier = (blob: Buffer) => {
      shown = blob;
      return false;
    };
    await tryLogin(host, { hostVerifier });
    await host.close();
    expect(shown).toEqual(host.key.blob);
    expect(host.connections()).toBe(1);
    expect(host.authPackets()).toEqual([]);
  });

  test.each(["ed25519", "ecdsa", "rsa"] as const)("has an %s key that our algorithms ask for", async (keyType) => {
    const host = await impostor({ keyType });
    let shown: Buffer | undefined;
    const hostVerifier = (blob: Buffer) => {
      shown = blob;
      return true;
    };
    await tryLogin(host, { hostVerifier, algorithms: { serverHostKey: preferredAlgorithms([]) } });
    expect(shown).toEqual(host.key.blob);
  });
});

/** OpenSSH with our pins, with the options given in pins.ts. */
async function sshWithPins(configDir: string, { address, port }: Impostor): Promise<string> {
  const options = {
    HostKeyAlias: "wolf-i",
    UserKnownHostsFile: join(configDir, "known_hosts"),
    GlobalKnownHostsFile: "/dev/null",
    StrictHostKeyChecking: "yes",
    BatchMode: "yes",
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const child = spawn("ssh", ["-F", "none", ...flags, "-p", String(port), address, "true"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  await once(child, "close");
  return said;
}

describe("OpenSSH with our pins", () => {
  test("trusts a host that shows the pinned key", async () => {
    const [configDir, host] = [scratch(), await impostor()];
    await pin(configDir, "wolf-i", host.key);
    expect(await sshWithPins(configDir, host)).toContain("Permission denied");
    expect(host.authAttempts()).toBeGreaterThan(0);
  });

  test("refuses a host with another key", async () => {
    const [configDir, host] = [scratch(), await impostor()];
    await pin(configDir, "wolf-i", key("ed1"));
    expect(await sshWithPins(configDir, host)).toContain("Host key verification failed");
    await host.close();
    expect(host.authPackets()).toEqual([]);
  });

  test("knows no host of another name", async () => {
    const [configDir, host] = [scratch(), await impostor()];
    await pin(configDir, "wolf-ii", host.key);
    expect(await sshWithPins(configDir, host)).toContain("Host key verification failed");
  });
});
