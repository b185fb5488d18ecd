import { quote } from "../../quote.js";

export interface CurlOptions {
  ref: string;
  url: string;
  env: NodeJS.ProcessEnv;
  /** Only when it is not the default. */
  configDir?: string | undefined;
}

/**
 * A command that queries an agent. The key goes through a pipe and is never an argument, as it would be with
 * `-H "…$(clm agent key …)"`; the user's proxy, if any, is bypassed.
 */
export function curlLine({ ref, url, env, configDir }: CurlOptions): string {
  const proxied = Object.entries(env).some(([name, value]) => /^(http|all)_proxy$/i.test(name) && value);
  const clm = ["clm", "agent", "key", ref, "--header", ...(configDir ? ["--config-dir", configDir] : [])];
  const curl = ["curl", "-sH", "@-", ...(proxied ? ["--noproxy", "127.0.0.1"] : []), url];
  return `${clm.map(quote).join(" ")} | ${curl.map(quote).join(" ")}`;
}
