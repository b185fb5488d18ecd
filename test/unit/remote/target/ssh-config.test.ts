import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fault, isFault } from "../../../../src/errors.js";
import { sshSettings } from "../../../../src/remote/target/ssh-config.js";

// Asks the real ssh, with our own config file instead of the user's.
const folder = mkdtempSync(join(tmpdir(), "clm-ssh-config-"));
const path = (name: string) => join(folder, name);
const env = { ...process.env, CLM_SSH_CONFIG: path("config"), CLM_TEST_SOCK: "/run/test.sock" };
const { username: me, homedir: home } = userInfo();

beforeAll(() => {
  for (const key of ["configured", "explicit", "agent-only.pub"]) writeFileSync(path(key), "");
  writeFileSync(
    path("config"),
    `
Host web
  HostName %h.example.com
  User deploy
  Port 2222
  IdentityFile ${path("configured")}
  IdentityFile ${path("missing")}
  IdentityFile ${path("agent-only")}
  HostKeyAlias the-web
  UserKnownHostsFile ~/.ssh/known_%r "${path("with space")}"
  IdentityAgent $CLM_TEST_SOCK
Host behind
  ProxyJump jump@gw:2200,[fe80::1]
Host direct
  ProxyJump none
  ProxyCommand none
  IdentityAgent none
Host command
  ProxyCommand nc %h %p
Host *
  GlobalKnownHostsFile /etc/clm-test
`,
  );
  mkdirSync(path("empty"));
  mkdirSync(path("broken"));
  writeFileSync(path("broken/ssh"), "#!/bin/sh\necho 'no such luck' >&2\nexit 255\n");
  chmodSync(path("broken/ssh"), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ask = (address: string, more: object = {}, otherEnv: NodeJS.ProcessEnv = env) =>
  sshSettings({ name: "wolf-i", address, ...more }, otherEnv);

const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => expect.fail("there was no fault"),
    (error) => (isFault(error) ? error : expect.fail(`not a fault: ${error}`)),
  );

describe("the output of ssh -G is used", () => {
  test("from the config file", async () => {
    expect(await ask("web")).toEqual({
      hostname: "web.example.com",
      user: "deploy",
      port: 2222,
      identityFiles: [path("configured"), path("agent-only")],
      identitiesOnly: false,
      identityAgent: "/run/test.sock",
      hostKeyAlias: "the-web",
      proxyJump: [],
      userKnownHostsFiles: [`${home}/.ssh/known_deploy`, path("with space")],
      globalKnownHostsFiles: ["/etc/clm-test"],
    });
  });

  test("for an unconfigured host", async () => {
    expect(await ask("Other.Example")).toMatchObject({ hostname: "other.example", user: me, port: 22, proxyJump: [] });
  });

  test("for hops", async () => {
    const { proxyJump } = await ask("behind");
    expect(proxyJump).toEqual([{ user: "jump", hostname: "gw", port: 2200 }, { hostname: "fe80::1" }]);
  });

  test("for none", async () => {
    const settings = await ask("direct");
    expect(settings).toMatchObject({ proxyJump: [], identityAgent: "none" });
    expect(settings).not.toHaveProperty("proxyCommand");
  });

  test("for IPv6 addresses", async () => {
    expect((await ask("::1")).hostname).toBe("::1");
    expect((await ask("[::1]")).hostname).toBe("::1");
  });
});

describe("the host's record comes first", () => {
  test("port and user", async () => {
    expect(await ask("web", { port: 99, user: "root" })).toMatchObject({
      hostname: "web.example.com",
      port: 99,
      user: "root",
    });
  });

  test("an identity, and of an agent's keys only those that are named", async () => {
    const { identityFiles, identitiesOnly } = await ask("web", { identity: path("explicit") });
    expect(identityFiles[0]).toBe(path("explicit"));
    expect(identitiesOnly).toBe(true);
    expect((await ask("other", { identity: path("explicit") })).identityFiles).toEqual([path("explicit")]);
  });

  test("an identity whose private key is in an agent", async () => {
    expect((await ask("other", { identity: path("agent-only.pub") })).identityFiles).toEqual([path("agent-only")]);
    expect((await ask("other", { identity: path("agent-only") })).identityFiles).toEqual([path("agent-only")]);
  });

  test.each(['odd "key" 100%h\\n', "with 'quotes' #and", "$HOME ${HOME"])("an identity called %s", async (name) => {
    writeFileSync(path(name), "");
    expect((await ask("other", { identity: path(name) })).identityFiles).toEqual([path(name)]);
  });

  test("an identity that is not there is a fault", async () => {
    const fault = await faultOf(ask("web", { identity: path("nowhere") }));
    expect(fault.fault).toBe("local-setup");
    expect(fault.message).toContain(path("nowhere"));
  });
});

describe("unsupported settings are reported", () => {
  test("a ProxyCommand", async () => {
    const fault = await faultOf(ask("command"));
    expect(fault.fault).toBe("unsupported");
    expect(fault.why.join()).toContain("nc %h %p");
  });

  test.each(["", "-oProxyCommand=x", "-", "a b", "a\nb", "a\u0000b"])("an address like %j", async (address) => {
    expect((await faultOf(ask(address))).fault).toBe("bad-input");
  });

  test.each(["", "-oProxyCommand=x", "a b"])("a user like %j", async (user) => {
    expect((await faultOf(ask("other", { user }))).fault).toBe("bad-input");
  });

  test("a config file that is not there", async () => {
    const fault = await faultOf(ask("web", {}, { ...env, CLM_SSH_CONFIG: path("nowhere") }));
    expect(fault.fault).toBe("local-setup");
    expect(fault.why.join()).toContain(path("nowhere"));
  });

  test("any other failure of ssh", async () => {
    const fault = await faultOf(ask("web", {}, { PATH: path("broken") }));
    expect(fault.why).toEqual(["no such luck"]);
  });
});

describe("without ssh on this machine", () => {
  const without = { PATH: path("empty") };

  test("the defaults of OpenSSH are used, with a message", async () => {
    const said: string[] = [];
    const settings = await sshSettings({ name: "wolf-i", address: "web" }, without, (line) => said.push(line));
    expect(settings).toMatchObject({
      hostname: "web",
      user: me,
      port: 22,
      identitiesOnly: false,
      proxyJump: [],
      userKnownHostsFiles: [`${home}/.ssh/known_hosts`, `${home}/.ssh/known_hosts2`],
      globalKnownHostsFiles: ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"],
    });
    expect(said).toEqual([expect.stringContaining("no ssh on this machine")]);
  });

  test("the host's record still counts", async () => {
    const settings = await ask("web", { user: "root", port: 99, identity: path("explicit") }, without);
    expect(settings).toMatchObject({ user: "root", port: 99, identityFiles: [path("explicit")], identitiesOnly: true });
  });
});
