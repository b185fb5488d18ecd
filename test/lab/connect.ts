import { type ConnectOptions, connect } from "../../src/remote/connect.js";
import type { Connection } from "../../src/remote/connection.js";
import { trustIn } from "../../src/remote/host-keys/trust.js";
import { findHost, hostStore } from "../../src/state/hosts.js";

const nobody = async () => undefined;

/** The dependencies of a connection, without prompts. */
export const meansFor = (home: string): ConnectOptions => ({
  trust: trustIn(home),
  credentials: { passphrase: nobody, password: nobody, sudo: nobody },
  env: process.env,
});

/** A connection to a host of the fleet, for tests below the level of commands. */
export function connectTo(home: string, name: string): Promise<Connection> {
  return connect(findHost(hostStore(home).read().hosts, name), meansFor(home));
}
