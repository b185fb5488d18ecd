import { defined } from "../../text/defined.js";

export interface Hop {
  hostname: string;
  port?: number;
  user?: string;
}

/** OpenSSH's settings for a host, as far as clm follows them. */
export interface SshSettings {
  hostname: string;
  user: string;
  port: number;
  /** Private keys to try; of each, the file or its `.pub` (with the key in an agent) exists. */
  identityFiles: string[];
  /** Offer only the agent's keys named by `identityFiles`. */
  identitiesOnly: boolean;
  /** The agent's socket when it is not `$SSH_AUTH_SOCK`, or "none". */
  identityAgent?: string;
  /** In order. As in OpenSSH, the first hop's own `ProxyJump` comes before it. */
  proxyJump: Hop[];
  /** Not supported: the caller throws. */
  proxyCommand?: string;
  /** The host's name, without port, in the user's known_hosts files. */
  hostKeyAlias?: string;
  userKnownHostsFiles: string[];
  globalKnownHostsFiles: string[];
  /** Milliseconds between keepalives, and how many may stay unanswered. */
  alive?: KeepAlive;
  /** ConnectTimeout of the user's config, in milliseconds. */
  connectTimeout?: number;
}

export interface KeepAlive {
  milliseconds: number;
  unanswered: number;
}

// A frozen host is noticed within 10 s: the third keepalive that finds two unanswered ends the connection.
const defaultAlive: KeepAlive = { milliseconds: 3000, unanswered: 2 };

/** The user's settings, unless they would notice later than that. */
export function keepAliveFor(wanted: KeepAlive = defaultAlive): KeepAlive {
  const end = ({ milliseconds, unanswered }: KeepAlive) => milliseconds * (unanswered + 1);
  return end(wanted) < end(defaultAlive) ? wanted : defaultAlive;
}

/** Values of the tokens in paths that are not in the settings themselves. */
export interface LocalUser {
  home: string;
  user: string;
  env: NodeJS.ProcessEnv;
}

/** Parses the output of `ssh -G`. Does not check whether identity files exist. */
export function parseSshSettings(output: string, here: LocalUser): SshSettings {
  const values = new Map<string, string[]>();
  for (const line of output.split("\n")) {
    const [, key, value] = /^(\S+) (.*?)\r?$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) values.set(key, [...(values.get(key) ?? []), value]);
  }
  const all = (key: string) => (values.get(key) ?? []).filter((value) => value !== "none");
  const one = (key: string) => all(key)[0];

  const host = one("hostname") ?? one("host") ?? "";
  const user = one("user") ?? here.user;
  const port = Number(one("port") ?? 22);
  const tokens = { d: here.home, u: here.user, h: host, n: one("host") ?? host, p: String(port), r: user, "%": "%" };
  const expand = (path: string) => expandPath(path, tokens, here);
  const connectTimeout = Number(one("connecttimeout")) * 1000;

  return defined({
    hostname: host.replace(/^\[(.*)\]$/, "$1"),
    user,
    port,
    identityFiles: all("identityfile").map((path) => expand(path).replace(/\.pub$/, "")),
    identitiesOnly: one("identitiesonly") === "yes",
    proxyJump: one("proxyjump")?.split(",").map(parseHop) ?? [],
    userKnownHostsFiles: all("userknownhostsfile").flatMap(splitPaths).map(expand),
    globalKnownHostsFiles: all("globalknownhostsfile").flatMap(splitPaths).map(expand),
    hostKeyAlias: one("hostkeyalias"),
    proxyCommand: one("proxycommand"),
    identityAgent: agentSocket(values.get("identityagent")?.[0], expand, here),
    alive: aliveFrom(one("serveraliveinterval"), one("serveralivecountmax")),
    connectTimeout: connectTimeout > 0 ? connectTimeout : undefined,
  });
}

/** OpenSSH prints zero for unset. */
const aliveFrom = (seconds = "0", unanswered = "3"): SshSettings["alive"] =>
  Number(seconds) > 0 ? { milliseconds: Number(seconds) * 1000, unanswered: Number(unanswered) } : undefined;

/** `[user@]host[:port]` or an `ssh://` URL; IPv6 is in brackets when a port follows. */
export function parseHop(text: string): Hop {
  const address = text.trim().replace(/^ssh:\/\/(.*?)\/?$/, "$1");
  const [, user, bracketed, plain, port] =
    /^(?:(.*)@)?(?:\[([^\]]*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(address) ?? [];
  return defined({ hostname: bracketed ?? plain ?? address, port: port === undefined ? port : Number(port), user });
}

/** `ssh -G` joins paths with spaces and quotes nothing, so a word that does not start a path continues the one before. */
function splitPaths(line: string): string[] {
  return line.split(/ (?=[/~%$])/);
}

/** `ssh -G` (seen with 9.2) leaves `~` and tokens in identity files, but not in the paths of known_hosts files. */
function expandPath(path: string, tokens: Record<string, string>, { home, env }: LocalUser): string {
  return path
    .replace(/^~(?=\/|$)/, () => home)
    .replace(/%(.)|\$\{(\w+)\}/g, (as, token, name) => (name === undefined ? tokens[token] : env[name]) ?? as);
}

function agentSocket(
  value: string | undefined,
  expand: (path: string) => string,
  { env }: LocalUser,
): string | undefined {
  if (value === undefined || value === "SSH_AUTH_SOCK") return undefined;
  const [, variable] = /^\$(\w+)$/.exec(value) ?? [];
  return variable === undefined ? expand(value) : env[variable] || "none";
}
