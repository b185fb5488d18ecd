import { isIP } from "node:net";
import { Fault } from "../../errors.js";
import { defaultPort } from "./defaults.js";

/** How a gateway is to run. */
export interface Settings {
  /** 0 for any that is free. */
  port: number;
  address: string;
  /** Files. */
  tls?: { cert: string; key: string };
  exposed: boolean;
  logBodies: boolean;
  /** Seconds. */
  drain: number;
  silence: number;
  /** Seconds to the first byte of an answer, and to its last. */
  firstByte: number;
  total: number;
  /** Bytes of an answer that comes whole, and of one that is streamed. */
  answerBytes?: number;
  streamBytes?: number;
  audit: { maxBytes?: number; keep?: number };
}

/** What was typed; it wins over the file. */
export interface Flags {
  port?: number | undefined;
  config?: string | undefined;
  listen?: string | undefined;
  tlsCert?: string | undefined;
  tlsKey?: string | undefined;
  exposeToNetwork?: boolean | undefined;
  logBodies?: boolean | undefined;
}

/** Old files of the audit log, of 64 MiB each: whoever can connect can make lines, and must not fill the disk with them. */
const usualKeep = 20;

export async function settingsFor(flags: Flags): Promise<Settings> {
  // YAML is read only by who has a file.
  const file = flags.config === undefined ? {} : await (await import("./config-file.js")).settingsIn(flags.config);
  const cert = flags.tlsCert ?? file.tls?.cert;
  const key = flags.tlsKey ?? file.tls?.key;
  if ((cert === undefined) !== (key === undefined)) {
    throw new Fault("bad-input", "TLS needs a certificate and its key", {
      why: `${cert === undefined ? "--tls-cert" : "--tls-key"} was not given`,
    });
  }
  const settings: Settings = {
    port: flags.port ?? file.port ?? defaultPort,
    address: flags.listen ?? file.address ?? "127.0.0.1",
    ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
    exposed: flags.exposeToNetwork || (file.exposed ?? false),
    logBodies: flags.logBodies || (file.logBodies ?? false),
    drain: file.drain ?? 10,
    silence: file.silence ?? 900,
    firstByte: file.firstByte ?? 900,
    total: file.total ?? 3600,
    ...(file.answerBytes !== undefined && { answerBytes: file.answerBytes }),
    ...(file.streamBytes !== undefined && { streamBytes: file.streamBytes }),
    audit: { keep: usualKeep, ...file.audit },
  };
  mustBeSafe(settings);
  return settings;
}

export const isLoopback = (address: string): boolean =>
  address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

/** Keys and conversations would pass in clear over whatever is between here and who asks. */
function mustBeSafe({ address, tls, exposed }: Settings): void {
  if (address !== "localhost" && isIP(address) === 0) {
    throw new Fault("bad-input", `'${address}' is no address to listen at`, {
      why: "it is an IP address of this machine, as 127.0.0.1",
      flag: "--listen",
    });
  }
  if (isLoopback(address) || (tls && exposed)) return;
  throw new Fault("bad-input", `the gateway does not listen at ${address} like this`, {
    why: [
      "others on the network could reach it there",
      tls
        ? "--expose-to-network says that you want that"
        : "that takes TLS (--tls-cert, --tls-key), and --expose-to-network, which says that you want it",
    ],
    next: "clm gateway serve --help",
    flag: "--listen",
    data: { address },
  });
}
