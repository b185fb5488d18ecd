import { Fault } from "../../errors.js";
import { isLoopback } from "../service/loopback.js";
import { defaultGatewayUrl, defaultPort } from "./defaults.js";

/** The URL of a gateway, with or without `/v1`. */
export function gatewayFrom(flag: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The text is not repeated: it may contain a password.
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.password) {
    throw new Fault("bad-input", `${flag} is not the URL of a gateway`, {
      why: `it should be like ${defaultGatewayUrl}, without a key`,
      flag,
    });
  }
  if (!/^\/(v1\/?)?$/.test(url.pathname) || url.search || url.hash) {
    throw new Fault("bad-input", `${flag} ${url.href} has a path`, {
      why: "signatures cover the path, so a gateway cannot be behind another one",
      flag,
    });
  }
  if (url.protocol !== "https:" && !isLoopback(url)) {
    throw new Fault("bad-input", `${flag} ${url.origin} would send everything unencrypted over the network`, {
      why: "http is for this machine only; use https for a gateway elsewhere, or ssh -L",
      next: `ssh -L ${defaultPort}:127.0.0.1:${defaultPort} ${url.hostname}`,
      flag,
    });
  }
  return new URL(url.origin);
}

export const baseOf = ({ origin }: URL): string => `${origin}/v1`;
