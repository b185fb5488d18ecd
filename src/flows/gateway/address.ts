import { Fault } from "../../errors.js";
import { isLoopback } from "../service/loopback.js";
import { defaultGatewayUrl, defaultPort } from "./defaults.js";

/** Where a gateway is, as it is typed. With or without `/v1` it means the same. */
export function gatewayFrom(flag: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Not repeated: it may hold a password.
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.password) {
    throw new Fault("bad-input", `${flag} is no address of a gateway`, {
      why: `it is written as ${defaultGatewayUrl}; keys are not part of it`,
      flag,
    });
  }
  if (!/^\/(v1\/?)?$/.test(url.pathname) || url.search || url.hash) {
    throw new Fault("bad-input", `${flag} ${url.href} has a path`, {
      why: "a gateway has an address of its own: a signature holds for the path that it sees",
      flag,
    });
  }
  if (url.protocol !== "https:" && !isLoopback(url)) {
    throw new Fault("bad-input", `${flag} ${url.origin} would send everything readable over the network`, {
      why: "http is for this machine alone; a gateway elsewhere is reached with https, or with ssh -L",
      next: `ssh -L ${defaultPort}:127.0.0.1:${defaultPort} ${url.hostname}`,
      flag,
    });
  }
  return new URL(url.origin);
}

/** What tools call the base URL. */
export const baseOf = ({ origin }: URL): string => `${origin}/v1`;
