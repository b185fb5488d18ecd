import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { promisify } from "node:util";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { type LocalUser, parseSshSettings, type SshSettings } from "./ssh-settings.js";
import type { Target } from "./target.js";

const run = promisify(execFile);

// `Match exec` and name lookups in the user's config take time; more than this is a hang.
const timeout = 15_000;

/**
 * Asks OpenSSH (`ssh -G`) how it would reach a host, so that `~/.ssh/config` works as for ssh. The host's record is
 * passed as options, which OpenSSH ranks above its files. `$CLM_SSH_CONFIG` names another config file, like `ssh -F`.
 */
export async function sshSettings(
  target: Target,
  env: NodeJS.ProcessEnv,
  debug: (line: string) => void = () => {},
): Promise<SshSettings> {
  mustBeOneWord("address", target.address);
  if (target.user !== undefined) mustBeOneWord("user", target.user);
  // From the password database, not $HOME, as OpenSSH does.
  const { homedir: home, username: user } = userInfo();
  const here: LocalUser = { home, user, env };
  const settings = parseSshSettings((await askSsh(target, here, debug)) ?? withoutSsh(target, here), here);
  if (settings.proxyCommand !== undefined) throw needsProxyCommand(target, settings.proxyCommand);
  const identityFiles = settings.identityFiles.filter((path) => existsSync(path) || existsSync(`${path}.pub`));
  // ssh -G prints an explicit identity first and then leaves the default keys out.
  const [explicit] = settings.identityFiles;
  if (target.identity && (!explicit || !identityFiles.includes(explicit)))
    throw noIdentity(target.name, target.identity);
  return { ...settings, identityFiles };
}

/** The output of `ssh -G`; undefined when ssh is not installed. */
async function askSsh(target: Target, here: LocalUser, debug: (line: string) => void): Promise<string | undefined> {
  const config = here.env.CLM_SSH_CONFIG;
  const argv = [
    "-G",
    ...(config ? ["-F", config] : []),
    ...(target.port === undefined ? [] : ["-p", String(target.port)]),
    ...(target.user === undefined ? [] : ["-l", target.user]),
    // Not -i: it ignores a path of which only the `.pub` exists, and ssh would try ~/.ssh/id_* instead.
    ...(target.identity ? ["-o", `IdentityFile=${inConfig(target.identity)}`, "-o", "IdentitiesOnly=yes"] : []),
    "--",
    target.address,
  ];
  try {
    const { stdout, stderr } = await run("ssh", argv, { env: here.env, timeout, maxBuffer: 1 << 22 });
    for (const line of stderr.split("\n").filter(Boolean)) debug(`ssh -G ${target.address}: ${line}`);
    return stdout;
  } catch (error) {
    const failure = error as { code?: unknown; killed?: boolean; stderr?: string; message: string };
    if (failure.code === "ENOENT") {
      debug(`no ssh on this machine: ${target.address} is reached without ~/.ssh/config`);
      return undefined;
    }
    throw new Fault("local-setup", `ssh -G failed for ${target.name} at ${target.address}`, {
      why: failure.killed ? "no answer in time" : (failure.stderr?.trim().split(/\r?\n/) ?? failure.message),
      next: `ssh -G ${config ? `-F ${quote(config)} ` : ""}${target.address}`,
      cause: error,
    });
  }
}

function withoutSsh(target: Target, here: LocalUser): string {
  const identities = target.identity
    ? [target.identity.replaceAll("%", "%%")]
    : ["id_ed25519", "id_ecdsa", "id_rsa"].map((key) => `~/.ssh/${key}`);
  return [
    `hostname ${target.address}`,
    `user ${target.user ?? here.user}`,
    `port ${target.port ?? 22}`,
    `identitiesonly ${target.identity ? "yes" : "no"}`,
    ...identities.map((path) => `identityfile ${path}`),
    "userknownhostsfile ~/.ssh/known_hosts ~/.ssh/known_hosts2",
    "globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2",
  ].join("\n");
}

/** A path in a config file, where `%` starts a token. */
function inConfig(path: string): string {
  return `"${path.replaceAll("%", "%%").replace(/["\\]/g, "\\$&")}"`;
}

function mustBeOneWord(what: string, text: string): void {
  if (/^[^\s\p{Cc}-][^\s\p{Cc}]*$/u.test(text)) return;
  throw new Fault("bad-input", `'${text}' cannot be a host's ${what}`, {
    why: "it is one word and does not start with -",
  });
}

function noIdentity(name: string, identity: string): Fault {
  return new Fault("local-setup", `the login key of ${name} does not exist: ${identity}`, {
    next: `ls -l ${quote(identity)}`,
  });
}

function needsProxyCommand(target: Target, command: string): Fault {
  return new Fault("unsupported", `${target.name} needs a ProxyCommand, which clm does not support`, {
    why: [`ProxyCommand ${command}`, "use ProxyJump where the proxy is an SSH host"],
    next: `ssh -G ${target.address}`,
  });
}
