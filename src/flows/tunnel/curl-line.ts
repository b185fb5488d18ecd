import { quote } from "../../quote.js";

export interface CurlOptions {
  /** The agent, as it is typed. */
  ref: string;
  url: string;
  env: NodeJS.ProcessEnv;
  /** Where `clm` would not find its state by itself. */
  configDir?: string | undefined;
}

/**
 * A command that asks an agent something, ready to be run. The key goes from one process to the other and is nobody's
 * argument, as it would be with `-H "…$(clm agent key …)"`; and a proxy, when the user has one, does not hear of it.
 */
export function curlLine({ ref, url, env, configDir }: CurlOptions): string {
  const proxied = Object.entries(env).some(([name, value]) => /^(http|all)_proxy$/i.test(name) && value);
  const clm = ["clm", "agent", "key", ref, "--header", ...(configDir ? ["--config-dir", configDir] : [])];
  const curl = ["curl", "-sH", "@-", ...(proxied ? ["--noproxy", "127.0.0.1"] : []), url];
  return `${clm.map(quote).join(" ")} | ${curl.map(quote).join(" ")}`;
}
