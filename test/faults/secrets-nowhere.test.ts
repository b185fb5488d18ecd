import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quote } from "../../src/quote.js";
import { openSecrets } from "../../src/state/secrets.js";
import { clm, inHost, type Result } from "../lab/clm.js";
import { labFixture } from "../lab/fixture.js";
import {
  filesBelow,
  filesOnHost,
  journalOf,
  onHost,
  stopWatching,
  temporaryFiles,
  watchArguments,
  watchProcesses,
} from "./find-secrets.js";
import { leaks, type Planted, plant, soughtIn, spellings, wholeSpellings } from "./planted.js";

// Secrets are given to clm in every possible way and used by every command. Then every place is searched for them but the
// two where they belong: secrets.json and the agent's .env.

const host = "trial-1";
const echo = "http://127.0.0.1:4180";

/** Each goes through all commands: one with output for people, one with JSON and --debug. */
const agents = [
  { name: "hid18", version: "2026.7.1+standin", words: [] },
  { name: "hid13", version: "2026.5.7+standin", words: ["--debug", "-o", "json"] },
];

const program = "hidbot";

const odd = `+/="&%'\\ $x?#<>;|`;
const given = {
  key: plant("the provider's key from stdin", odd),
  next: plant("its next key, from a file", odd),
  byEnv: plant("a key by env:", odd),
  byCmd: plant("a key by cmd:", odd),
  bot: plant("the Discord token", `+/=${"x".repeat(30)}`),
  bot2: plant("the second channel's token", `_${"y".repeat(30)}`, "123456:"),
  jira: plant("the Atlassian token", odd),
  own: plant("a secret of the agent's own", `${odd}ä…`),
  imported: plant("an imported secret", '+/="&%ä…$x?'),
  foreign: plant("what somebody else put in .env", "+/=&%?"),
  program: plant("a secret of a program", `${odd}ä…`),
};
/** Never stored: refused, or only sent to the service. */
const refused = {
  wrong: plant("a token that is refused", "+/=&% no token at all"),
  typed: plant("what was typed where it should not be", '+/="&%?'),
};
/** Planted in known places, to prove that the search finds it. */
const control = plant("the control", `${odd}ä…`);
const variables = {
  KEY_BY_ENV: given.byEnv.value,
  BOT: given.bot.value,
  BOT2: given.bot2.value,
  JIRA: given.jira.value,
  OWN: given.own.value,
  PROGRAM: given.program.value,
  WRONG: refused.wrong.value,
};

let scratch: string;
let chattyService: Server;
const apiKeys: Planted[] = [];
/** The output of every clm, and the arguments of it and its children. */
const said: { where: string; text: string }[] = [];
const argumentsHere = new Set<string>();
let watching: Promise<Result>;

const scratchFile = (name: string, text: string): string => {
  const path = join(scratch, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};

const { home } = labFixture();
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "clm-planted-"));
  mkdirSync(join(scratch, "tmp"));
  scratchFile("began", "");
  chattyService = createServer(({ url }, answer) => {
    const location = url?.startsWith("/away") ? { location: `http://127.0.0.1:9/elsewhere${url}` } : {};
    answer.writeHead(location.location ? 302 : 404, { "content-type": "application/json", ...location });
    // Long enough that truncation cuts into the token.
    answer.end(JSON.stringify({ ok: false, description: `${"no such bot ".repeat(9)} ${url}` }));
  });
  await new Promise<void>((done) => chattyService.listen(0, "127.0.0.1", done));
  mkdirSync(join(home, "manifests"), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "manifests", "chatty.yaml"), chattyManifest((chattyService.address() as AddressInfo).port));
  watching = watchProcesses(
    host,
    // Commands that run as the agent have its environment.
    [...agents.map(({ name }) => `/hermes-${name}.service`), `/program-${program}.service`, "/clm-exec-"],
  );
});

afterAll(async () => {
  await stopWatching(host);
  await watching;
  chattyService.close();
  rmSync(scratch, { recursive: true });
});

/** Services that repeat the token: in an error that is truncated, and in an address. */
const chattyManifest = (port: number): string => `type: hermes
channels:
  chatty:
    title: A chatty channel with the token in its address
    fields: [{ name: token, ask: Token, secret: CHATTY_TOKEN, required: true }]
    test: { url: "http://127.0.0.1:${port}/bot{{token}}/getMe", says: ok }
  away:
    title: A channel that has moved
    fields: [{ name: token, ask: Token, secret: AWAY_TOKEN, required: true }]
    test: { url: "http://127.0.0.1:${port}/away/{{token}}", says: ok }
`;

/** Runs clm, and records its output and arguments. */
async function record(args: string[], { input = "", unwatched = false } = {}): Promise<Result> {
  const result = await clm(args, {
    home,
    env: { ...variables, TMPDIR: join(scratch, "tmp") },
    input,
    ...(!unwatched && { during: watchArguments(argumentsHere) }),
  });
  const where = `clm ${args.join(" ")}`;
  said.push({ where: `stdout of ${where}`, text: result.stdout }, { where: `stderr of ${where}`, text: result.stderr });
  return result;
}

async function must(args: string[], input = ""): Promise<Result> {
  const result = await record(args, { input });
  if (result.code !== 0) throw new Error(`clm ${args.join(" ")} ended with ${result.code}:\n${result.stderr}`);
  return result;
}

async function mustFail(args: string[], options: { input?: string; unwatched?: boolean } = {}): Promise<Result> {
  const result = await record(args, options);
  if (result.code === 0) throw new Error(`clm ${args.join(" ")} should have failed:\n${result.stdout}`);
  return result;
}

/** All planted secrets, and the keys that clm made. */
const everything = (): Planted[] => [...Object.values(given), ...Object.values(refused), ...apiKeys];

const keepApiKey = (agent: string): void => {
  const found = openSecrets(home).get({ host, type: "hermes", agent }, "HERMES_API_SERVER_KEY")?.reveal();
  if (found === undefined) throw new Error(`${agent} has no key`);
  if (!apiKeys.some(({ value }) => value === found)) {
    apiKeys.push({ name: `the API key of ${agent} (${apiKeys.length})`, value: found });
  }
};

const isSecretsFile = (path: string): boolean => /^(backups\/)?secrets\.json(\.\d+)?$/.test(relative(home, path));

describe("the search", () => {
  it("finds every secret in every spelling", () => {
    for (const secret of [...everything(), control]) {
      const sought = soughtIn([secret]);
      const { value } = secret;
      const texts = [
        value,
        `${value.slice(0, 20)}…`,
        JSON.stringify({ a: [value] }),
        `http://x/${encodeURIComponent(value)}/y`,
        `${new URLSearchParams({ a: "b", c: value, d: "e" })}`,
        `echo ${quote(`x${value}y`)}`,
        ...["", "a", "ab", "abc"].map((before) => Buffer.from(`${before}${value}after`).toString("base64")),
        Buffer.from(`${"long ".repeat(20)}${value}`)
          .toString("base64")
          .replace(/.{76}/g, "$&\n"),
        Buffer.from(`a${value}`).toString("base64url"),
        Buffer.from(value).toString("hex"),
      ];
      for (const text of texts) expect([text, leaks(sought, text, "it")]).not.toEqual([text, []]);
      expect(leaks(sought, texts.join(" ").replaceAll(/[a-z0-9]{3}/gi, "###"), "it")).toEqual([]);
    }
  });

  it("finds them in the host's files and journal, and among its processes", async () => {
    const ways = Object.entries(spellings(control.value));
    const files = ways.map(([, text], index) => `printf %s ${quote(`x${text}y`)} >/var/tmp/clm-control.${index}`);
    await inHost(host, files.join("\n"));
    try {
      expect(await filesOnHost(host, [control])).toHaveLength(ways.length);
    } finally {
      await inHost(host, `rm -f /var/tmp/clm-control.*`);
    }
    expect(await filesOnHost(host, [control])).toEqual([]);
    await inHost(host, `printf '%s\\n' ${quote(`x${control.value}y`)} | systemd-cat; journalctl --sync`);
    expect(await journalOf(host, [control])).toContain(control.value);
    // Each lives longer than one round of the watcher.
    await inHost(host, `sh -c 'sleep 1; :' ${quote(control.value)}`);
    await inHost(host, `IN_ENV=$(printf %s ${quote(control.value)} | base64 -w 0) sh -c 'sleep 1; :'`);
  });
});

describe("with providers", () => {
  it("whose keys come from every source", async () => {
    const add = (name: string) => ["provider", "add", name, "--type", "ollama", "--endpoint", echo, "--model", "echo"];
    await must([...add("main"), "--key-stdin"], `${given.key.value}\n`);
    await must([...add("by-env"), "--key-ref", "env:KEY_BY_ENV", "--debug", "-o", "json"]);
    // It prints the secret on stderr, too.
    const teller = scratchFile(
      "teller",
      `key=$(cat ${scratchFile("cmd-key", given.byCmd.value)}); printf '%s\\n' "$key"; echo "is $key right?" >&2`,
    );
    await must([...add("by-cmd"), "--key-ref", `cmd:sh ${teller}`, "--debug"]);
    expect(openSecrets(home).get({ provider: "main" }, "API_KEY")?.reveal()).toBe(given.key.value);
  });

  it("that are listed, shown, tested and changed", async () => {
    for (const words of [[], ["--debug", "-o", "json"]]) {
      await must(["provider", "list", ...words]);
      await must(["provider", "test", "main", "--host", host, ...words]);
    }
    for (const name of ["main", "by-env", "by-cmd"]) await must(["provider", "show", name, "-o", "yaml"]);
    await must(["provider", "test", "by-cmd", "--host", host]);
    const next = scratchFile("next-key", given.next.value);
    await must(["provider", "update", "main", "--key-file", next, "--dry-run", "--debug"]);
    await must(["provider", "update", "main", "--key-file", next, "--debug", "-o", "json"]);
    expect(openSecrets(home).get({ provider: "main" }, "API_KEY")?.reveal()).toBe(given.next.value);
  });
});

/** Every command for an installed agent. */
async function useEverything({ name, words }: (typeof agents)[number]): Promise<void> {
  const agent = (verb: string, args: string[] = [], input = "") =>
    must(["agent", ...verb.split(" "), name, ...args, ...words], input);
  const refuse = (verb: string, args: string[]) => mustFail(["agent", ...verb.split(" "), name, ...args, ...words]);
  const data = `/home/${name}/.hermes`;
  const channel = (kind: string, variable: string) => ["--channel", kind, "--secret", `${kind}.token=env:${variable}`];
  const set = (field: string, value: string) => ["--set", `${field}=${value}`];
  const models = ["--provider", "main", "--fallback", "by-env", "--auxiliary", "vision=by-cmd"];
  const discord = [...channel("discord", "BOT"), ...set("discord.allowed_users", "123456789012345678")];
  const jira = ["--mcp", "atlassian", "--secret", "atlassian.api_token=env:JIRA"];
  const site = [...set("atlassian.url", "https://x.test"), ...set("atlassian.username", "me@x.test")];
  const all = [...models, ...discord, ...jira, ...site, "--no-test"];

  // Configure, and refused configurations.
  await agent("configure", [...all, "--dry-run"]);
  await agent("configure", all);
  await agent("configure", ["--stage", "providers", ...models]);
  for (const token of ["WRONG", "NOT_SET"]) await refuse("configure", [...channel("discord", token), "--no-test"]);
  for (const kind of ["chatty", "away"]) {
    const { stderr } = await refuse("configure", channel(kind, "BOT2"));
    if (kind === "chatty") expect(stderr).toContain("/bot[secret]");
  }
  await onHost(host, `cat >>${data}/.env`, `FOREIGN_PART='${given.foreign.value}'\n`);
  await refuse("configure", ["--model", "echo-2"]);
  await agent("configure", ["--model", "echo-2", "--allow-removal", "--no-validate"]);

  // Its own secrets.
  await agent("secret set", ["OWN_PHRASE", "--from", "env:OWN"]);
  const file = (text: string) => ["--yes", "--file", scratchFile(`${name}.env`, text)];
  await agent("secret import", [...file(`IMPORTED_PHRASE='${given.imported.value}'\n`), "--dry-run"]);
  await agent("secret import", [...file(`IMPORTED_PHRASE='${given.imported.value}'\n`), "--apply"]);
  for (const line of [
    `BARE=${given.imported.value}`,
    given.imported.value,
    `API_SERVER_KEY='${given.imported.value}'`,
  ]) {
    await refuse("secret import", file(line));
  }

  // Stop and start, once with secrets in its last log line, which is cut in the middle of the second.
  await agent("stop");
  await agent("start");
  const unwell = `cd ${data} && echo no-health >.standin && chown ${name}: .standin
systemctl stop hermes-${name}; rm gateway_state.json; systemctl start hermes-${name}
for n in $(seq 100); do grep -qs api_server gateway_state.json && break; sleep 0.1; done
{ date -d tomorrow '+%F %T' | tr '\\n' ' '; cat; } >>logs/errors.log`;
  await onHost(host, unwell, `${given.bot.value} was what it said, and also that ${given.next.value}\n`);
  try {
    const { stdout, stderr } = await refuse("start", []);
    const [last] = /its last output: .*/.exec(stdout + stderr) ?? [];
    expect(last).toContain("[secret] was what it said, and also that [secret]");
  } finally {
    await inHost(host, `cd ${data} && rm .standin && sed -i '/was what it said/d' logs/errors.log`);
  }
  // An unhealthy agent must be validated again.
  await agent("configure");
  await agent("restart");

  // A new key, and memory.
  await agent("rotate-key", ["--dry-run"]);
  await agent("rotate-key");
  keepApiKey(name);
  await agent("memory write", ["MEMORY.md"], "Likes secrets to stay where they are.");
  for (const verb of ["memory show", "memory info", "secret list", "show"]) await agent(verb);
  await must(["agent", "memory", "read", name]);
  await must(["agent", "list", ...words]);
  await showEverything({ name, words });
}

/** Every command that shows logs, sessions and files of an agent, while all of them contain secrets. */
async function showEverything({ name, words }: Pick<(typeof agents)[number], "name" | "words">): Promise<void> {
  const data = `/home/${name}/.hermes`;
  const unit = `hermes-${name}.service`;
  // Secrets from a command are not fetched to show logs.
  const known = [given.next, given.byEnv, given.bot, given.jira, given.own, ...apiKeysNow()];
  const kept = `/run/kept-${name}`;
  await inHost(
    host,
    `systemctl stop ${unit} && mkdir -m 700 ${kept} && cp -a ${data}/state.db ${data}/logs ${data}/.env ${data}/config.yaml ${kept}/ && systemctl start ${unit}`,
  );
  await must(["agent", "start", name, ...words]);
  try {
    const lines = known.flatMap(({ value }) => wholeSpellings(value).map((text) => `it said ${text} aloud`));
    const stamp = "$(date '+%F %T'),000 ERROR planted:";
    await onHost(
      host,
      `while IFS= read -r line; do printf '%s %s\\n' "${stamp}" "$line"; done >>${data}/logs/errors.log`,
      `${lines.join("\n")}\n`,
    );
    const { stdout: logs } = await must(["agent", "logs", name, "--lines", "1000", ...words]);
    expect(logs.match(/it said .*\[secret\].* aloud/g)?.length).toBeGreaterThan(lines.length / 2);

    // The echo repeats it, and the agent stores it.
    const message = `repeat slowly ${known.map(({ value }) => value).join(" and ")} please`;
    const { stdout: answer } = await must(["chat", name, ...words], message);
    expect(answer).toContain("[secret]");
    const sessions = (verb: string, ...more: string[]) => must(["agent", "sessions", verb, name, ...more, ...words]);
    const { stdout: list } = await must(["agent", "sessions", "list", name, "-o", "json"]);
    const [{ id }] = JSON.parse(list);
    await sessions("list");
    const { stdout: shown } = await sessions("show", id, "--full");
    expect(shown).toContain("[secret]");
    await sessions("search", "please");
    await must(["agent", "sessions", "export", name, "--all"]);
    await must(["agent", "exec", name, ...words, "--", "printenv", "API_SERVER_KEY", "DISCORD_BOT_TOKEN"]);

    // Drift in both files.
    await onHost(host, `cat >>${data}/.env`, `FOREIGN_PART='${given.foreign.value}'\n`);
    await onHost(
      host,
      `read -r line; sed -i "s|^model:|model:\n  base_url: |" ${data}/config.yaml; printf 'note: "%s"\n' "$line" >>${data}/config.yaml`,
      `${given.bot.value}\n`,
    );
    for (const looking of [["ps"], ["agent", "status"], ["agent", "doctor"], ["agent", "diff"]]) {
      const { stdout, stderr } = await record([...looking, name, ...words]);
      expect(`${stdout}${stderr}`).toContain(name);
      await record([...looking, name, "--debug", ...words]);
    }
    await record(["agent", "sync", name, "--dry-run", ...words]);
    await record(["doctor", "--verbose", ...words]);
  } finally {
    await inHost(
      host,
      `systemctl stop ${unit}; cd ${data} && rm -rf state.db* logs sessions/*clm-* && cp -a ${kept}/* ${kept}/.env . && rm -rf ${kept} && systemctl start ${unit}`,
    );
  }
  await must(["agent", "sync", name, ...words]);
}

describe("with agents", () => {
  it.each(agents)("of $version installed", async ({ name, version, words }) => {
    const install = ["agent", "install", "--type", "hermes", "--host", host, "--name", name, "--version", version];
    await must([...install, "--yes", ...words]);
    keepApiKey(name);
  });

  it("used by every command", { timeout: 300_000 }, async () => {
    await Promise.all(agents.map(useEverything));
  });
});

describe("with a program", () => {
  const words = ["--debug", "-o", "json"];
  const agent = (verb: string, ...args: string[]) => must(["agent", ...verb.split(" "), program, ...args]);
  const set = (setting: string, value: string) => ["--set", `${setting}=${value}`];

  it("whose secret goes through every command", { timeout: 300_000 }, async () => {
    const script = scratchFile("bot.sh", 'while :; do echo "it is here"; sleep 1; done\n');
    await must(["agent", "install", "--type", "program", "--host", host, "--name", program]);
    await agent("secret set", "PROGRAM_PHRASE", "--from", "env:PROGRAM");
    await agent("configure", ...set("command", "sh bot.sh"), ...set("files", script), "--dry-run");
    await agent("configure", ...set("command", "sh bot.sh"), ...set("files", script), ...words);
    const { stdout } = await agent("exec", "--", "printenv", "PROGRAM_PHRASE");
    expect(stdout).toContain("[secret]");

    writeFileSync(script, "# changed\n", { flag: "a" });
    for (const looking of [["ps"], ["diff"], ["agent", "status"], ["agent", "doctor"], ["agent", "show"]]) {
      await record([...looking, program]);
      await record([...looking, program, ...words]);
    }
    await agent("sync", ...words);
    await agent("stop");
    await agent("start", ...words);
    await agent("logs", "--lines", "1000");
    await mustFail(["agent", "configure", program, ...set("environment", `API_TOKEN=${refused.typed.value}`)], {
      unwatched: true,
    });
  });
});

describe.concurrent("a secret typed in the wrong place", () => {
  const [{ name: agent = "" } = {}] = agents;
  const { value } = refused.typed;
  const add = ["provider", "add", "new", "--type", "ollama", "--model", "x"];
  const configure = ["agent", "configure", agent];

  it.each([
    ["the value of --set", [...configure, "--channel", "discord", "--set", `discord.token=${value}`]],
    ["the value of --secret", [...configure, "--channel", "discord", "--secret", `discord.token=${value}`]],
    ["--secret itself", [...configure, "--channel", "discord", "--secret", value]],
    ["a word after --secret", [...configure, "--channel", "discord", "--secret", "discord.token", value]],
    ["a field that is not there", [...configure, "--channel", "discord", "--set", `discord.tokn=${value}`]],
    ["an option that is not there", [...add, "--endpoint", echo, "--key", value]],
    ["the value of one", [...add, "--endpoint", echo, `--key=${value}`]],
    ["a short one", [...add, "--endpoint", echo, `-k${value}`]],
    ["a word after --key-stdin", [...add, "--endpoint", echo, "--key-stdin", value]],
    ["--key-ref", [...add, "--endpoint", echo, "--key-ref", value]],
    ["the variable of --key-ref", [...add, "--endpoint", echo, "--key-ref", `env:${value}`]],
    ["a secret field", [...add, "--endpoint", echo, "--set", `api_key=${value}`]],
    ["an address", [...add, "--endpoint", `https://me:${encodeURIComponent(value)}@x.test`]],
    ["what is asked of an address", [...add, "--endpoint", `https://x.test/?key=${encodeURIComponent(value)}`]],
    ["a word after a name", ["agent", "secret", "set", agent, "MY_PHRASE", value]],
    ["a name with a value", ["agent", "secret", "set", agent, `MY_PHRASE=${value}`]],
    ["--from", ["agent", "secret", "set", agent, "MY_PHRASE", "--from", value]],
    ["a word after rotate-key", ["agent", "rotate-key", agent, value]],
  ])("%s", async (_, args) => {
    await mustFail([...args, "--debug"], { unwatched: true });
  });

  it.each([
    ["as it is", `channels:\n  discord: {token: '${value}'}\n`],
    ["beside an odd tag", `channels:\n  discord: {token: '${value}', home_channel: !odd x}\n`],
    ["as an alias", `channels:\n  discord: {token: *${value.slice(0, 20)}}\n`],
    ["in what is no YAML", `channels:\n  discord: {token: '${value}'\nx: ]\n`],
    ["twice", `channels:\n  discord: {token: '${value}', token: '${value}'}\n`],
    [
      "in a server's headers",
      `mcp: {mine: {server: {url: 'http://x.test', headers: {Authorization: 'Bearer ${value}'}}}}\n`,
    ],
    ["in a server's env", `mcp: {mine: {server: {command: x, env: {SOME_TOKEN: '${value}'}}}}\n`],
  ])("a file of answers: %s", async (how, text) => {
    const file = scratchFile(`${how.replaceAll(/\W/g, "")}.yaml`, text);
    await mustFail([...configure, "--file", file, "--debug"], { unwatched: true });
  });
});

describe("all secrets are", () => {
  it("in secrets.json, and in .env and no other file of the host", async () => {
    const stored = readFileSync(join(home, "secrets.json"), "utf8");
    const kept = [given.next, given.bot, given.jira, given.own, given.imported, given.program, ...apiKeysNow()];
    for (const { value } of kept) expect(stored).toContain(JSON.stringify(value));
    const envs = agents.map(({ name }) => `/home/${name}/.hermes/.env`).sort();
    const shared = [given.next, given.byEnv, given.byCmd, given.bot, given.jira, given.own, given.imported];
    for (const secret of shared) expect([secret.name, await filesOnHost(host, [secret])]).toEqual([secret.name, envs]);
    expect(await filesOnHost(host, apiKeysNow())).toEqual(envs);
    expect(await filesOnHost(host, [given.program])).toEqual([`/home/${program}/.program/.env`]);
    const elsewhere = [...shared, given.program, ...apiKeysNow()];
    const others = everything().filter((each) => !elsewhere.includes(each));
    expect(others.map(({ name }) => name)).toHaveLength(7);
    expect(await filesOnHost(host, others)).toEqual([]);
  });

  it("in no journal entry, argument or environment of the host", async () => {
    expect(await journalOf(host, everything())).toBe("");
    await stopWatching(host);
    const { stdout: seenOnHost } = await watching;
    // The watcher saw what it should: the control, and clm's own processes.
    expect(leaks(soughtIn([control]), seenOnHost, "sight")).toEqual(
      expect.arrayContaining([`${control.name} (plain) in sight`, `${control.name} (base64 at 0) in sight`]),
    );
    for (const word of ["sudo\0", "curl\0-q\0--config\0-", "dd bs="]) expect(seenOnHost).toContain(word);
    expect(leaks(soughtIn(everything()), seenOnHost, `a process of ${host}`)).toEqual([]);
  });

  it("in no output of clm", () => {
    expect(said.length).toBeGreaterThan(150);
    expect(said.map(({ text }) => text).join("")).toContain("Sending CHANNEL_REQUEST");
    const sought = soughtIn(everything());
    expect(said.flatMap(({ where, text }) => leaks(sought, text, where))).toEqual([]);
  });

  it("in no argument of clm or its children", () => {
    const words = [...argumentsHere].join("\n");
    expect(words).toContain("provider add main");
    expect(words).toMatch(/^\/bin\/sh -c sh .*teller/m);
    expect(leaks(soughtIn(everything()), words, "the arguments of a process")).toEqual([]);
  });
});

describe("after the agents are removed, all secrets are", () => {
  beforeAll(async () => {
    for (const { name, words } of agents) await must(["agent", "remove", name, "--yes", ...words]);
    await must(["agent", "remove", program, "--yes"]);
    for (const words of [[], ["-o", "json"], ["--verify"]]) await must(["audit", ...words]);
  });

  it("nowhere on the host", async () => {
    expect(await filesOnHost(host, everything())).toEqual([]);
    expect(await journalOf(host, everything())).toBe("");
  });

  it("in no file of the config directory but secrets.json and its backups", () => {
    const files = filesBelow(home);
    const names = files.map(([path]) => relative(home, path)).join("\n");
    for (const name of [/^audit\.jsonl$/m, /^hosts\.json$/m, /^backups\/agents\/.*hid18.*\.gz$/m, /^secrets\.json$/m]) {
      expect(names).toMatch(name);
    }
    const sought = soughtIn(everything());
    const others = files.filter(([path]) => !isSecretsFile(path));
    expect(others.flatMap(([path, text]) => leaks(sought, text, relative(home, path)))).toEqual([]);
    // Secrets of the agents themselves are not even there.
    const gone = soughtIn([given.bot, given.jira, given.own, given.imported, given.program, ...apiKeys]);
    expect(files.flatMap(([path, text]) => leaks(gone, text, relative(home, path)))).toEqual([]);
  });

  it("in no output since then, and in no temporary file of this machine", () => {
    const sought = soughtIn(everything());
    expect(said.flatMap(({ where, text }) => leaks(sought, text, where))).toEqual([]);
    scratchFile("tmp/control", control.value);
    const kept = [home, ...["*-key", "*.env", "*.yaml"].map((name) => join(scratch, name))];
    expect(temporaryFiles([...everything(), control], join(scratch, "began"), kept)).toEqual([
      join(scratch, "tmp", "control"),
    ]);
  });
});

const apiKeysNow = (): Planted[] => {
  const stored = readFileSync(join(home, "secrets.json"), "utf8");
  return apiKeys.filter(({ value }) => stored.includes(value));
};
