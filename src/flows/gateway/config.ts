import { isIP } from "node:net";
import { Fault } from "../../errors.js";
import { defined } from "../../text/defined.js";
import { defaultPort } from "./defaults.js";

export interface Settings {
  /** 0 for any free port. */
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
  /** Bytes of a whole answer, and of a streamed one. */
  answerBytes?: number;
  streamBytes?: number;
  audit: { maxBytes?: number; keep?: number };
}

/** Flags override the file. */
export interface Flags {
  port?: number | undefined;
  config?: string | undefined;
  listen?: string | undefined;
  tlsCert?: string | undefined;
  tlsKey?: string | undefined;
  exposeToNetwork?: boolean | undefined;
  logBodies?: boolean | undefined;
}

const defaults = {
  port: defaultPort,
  address: "127.0.0.1",
  exposed: false,
  logBodies: false,
  drain: 10,
  silence: 900,
  firstByte: 900,
  total: 3600,
  // Files of 64 MiB each: anybody who can connect can cause lines, and must not fill the disk.
  audit: { keep: 20 },
};

export async function settingsFor(flags: Flags): Promise<Settings> {
  // The YAML parser is loaded only when there is a file.
  const file = flags.config === undefined ? {} : await (await import("./config-file.js")).settingsIn(flags.config);
  const cert = flags.tlsCert ?? file.tls?.cert;
  const key = flags.tlsKey ?? file.tls?.key;
  if ((cert === undefined) !== (key === undefined)) {
    throw new Fault("bad-input", "TLS needs a certificate and its key", {
      why: `${cert === undefined ? "--tls-cert" : "--tls-key"} is missing`,
    });
  }
  const settings: Settings = {
    ...defaults,
    ...file,
    ...defined({
      port: flags.port,
      address: flags.listen,
      exposed: flags.exposeToNetwork || undefined,
      logBodies: flags.logBodies || undefined,
      tls: cert !== undefined && key !== undefined ? { cert, key } : undefined,
    }),
    audit: { ...defaults.audit, ...file.audit },
  };
  mustBeSafe(settings);
  return settings;
}

export const isLoopback = (address: string): boolean =>
  address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

/** Without TLS, keys and conversations would be readable on the network. */
function mustBeSafe({ address, tls, exposed }: Settings): void {
  if (address !== "localhost" && isIP(address) === 0) {
    throw new Fault("bad-input", `'${address}' is not an address to listen on`, {
      why: "use an IP address of this machine, such as 127.0.0.1",
      flag: "--listen",
    });
  }
  if (isLoopback(address) || (tls && exposed)) return;
  throw new Fault("bad-input", `the gateway does not listen on ${address} without more options`, {
    why: [
      "others on the network could reach it",
      tls
        ? "confirm that with --expose-to-network"
        : "that needs TLS (--tls-cert, --tls-key), and --expose-to-network to confirm it",
    ],
    next: "clm gateway serve --help",
    flag: "--listen",
    data: { address },
  });
}
