/** A host to go through on the way. */
export interface Hop {
  hostname: string;
  port?: number;
  user?: string;
}

/** What OpenSSH would do to reach a host, as far as clm does the same. */
export interface SshSettings {
  hostname: string;
  user: string;
  port: number;
  /** Private keys to try; of each, the file itself or its `.pub` (the key being in an agent) is there. */
  identityFiles: string[];
  /** Of an agent's keys, only those named by `identityFiles` are to be shown. */
  identitiesOnly: boolean;
  /** The agent's socket when it is not `$SSH_AUTH_SOCK`, or "none". */
  identityAgent?: string;
  /** In the order they are passed. As in OpenSSH, the `ProxyJump` of the first hop's own settings comes before it. */
  proxyJump: Hop[];
  /** clm runs no ProxyCommand; the caller says so. */
  proxyCommand?: string;
  /** The name, without port, under which the user's known_hosts files hold this host. */
  hostKeyAlias?: string;
  userKnownHostsFiles: string[];
  globalKnownHostsFiles: string[];
  /** How often a silent host is asked whether it is still there, and how many of these it may leave unanswered. */
  alive?: KeepAlive;
  /** Milliseconds until the host must have answered, where the user's config says so. */
  connectTimeout?: number;
}

export interface KeepAlive {
  milliseconds: number;
  unanswered: number;
}

// Whoever waits for a word from a host that froze is told within 10 s: the third question that finds two unanswered ends it.
const defaultAlive: KeepAlive = { milliseconds: 3000, unanswered: 2 };

/** What the user's config says, unless that would tell later than clm promises. */
export function keepAliveFor(wanted: KeepAlive = defaultAlive): KeepAlive {
  const end = ({ milliseconds, unanswered }: KeepAlive) => milliseconds * (unanswered + 1);
  return end(wanted) < end(defaultAlive) ? wanted : defaultAlive;
}

/** What the tokens in paths stand for, besides what the settings say themselves. */
export interface LocalUser {
  home: string;
  user: string;
  env: NodeJS.ProcessEnv;
}

/** Reads what `ssh -G` prints. Whether identity files exist is not looked at. */
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
  const hostKeyAlias = one("hostkeyalias");
  const proxyCommand = one("proxycommand");
  const tokens = { d: here.home, u: here.user, h: host, n: one("host") ?? host, p: String(port), r: user, "%": "%" };
  const expand = (path: string) => expandPath(path, tokens, here);
  const identityAgent = agentSocket(values.get("identityagent")?.[0], expand, here);

  return {
    hostname: host.replace(/^\[(.*)\]$/, "$1"),
    user,
    port,
    identityFiles: all("identityfile").map((path) => expand(path).replace(/\.pub$/, "")),
    identitiesOnly: one("identitiesonly") === "yes",
    proxyJump: one("proxyjump")?.split(",").map(parseHop) ?? [],
    userKnownHostsFiles: all("userknownhostsfile").flatMap(splitPaths).map(expand),
    globalKnownHostsFiles: all("globalknownhostsfile").flatMap(splitPaths).map(expand),
    ...(hostKeyAlias !== undefined && { hostKeyAlias }),
    ...(proxyCommand !== undefined && { proxyCommand }),
    ...(identityAgent !== undefined && { identityAgent }),
    ...aliveFrom(one("serveraliveinterval"), one("serveralivecountmax")),
    ...(Number(one("connecttimeout")) > 0 && { connectTimeout: Number(one("connecttimeout")) * 1000 }),
  };
}

/** Zero is what OpenSSH says when nobody has set it. */
function aliveFrom(seconds = "0", unanswered = "3"): Pick<SshSettings, "alive"> {
  return Number(seconds) > 0 ? { alive: { milliseconds: Number(seconds) * 1000, unanswered: Number(unanswered) } } : {};
}

/** `[user@]host[:port]` or the same as an `ssh://` address; IPv6 stands in brackets when a port follows. */
export function parseHop(text: string): Hop {
  const address = text.trim().replace(/^ssh:\/\/(.*?)\/?$/, "$1");
  const [, user, bracketed, plain, port] =
    /^(?:(.*)@)?(?:\[([^\]]*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(address) ?? [];
  return {
    hostname: bracketed ?? plain ?? address,
    ...(port !== undefined && { port: Number(port) }),
    ...(user !== undefined && { user }),
  };
}

/** `ssh -G` joins paths with spaces and quotes nothing, so a word that starts no path belongs to the one before it. */
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
