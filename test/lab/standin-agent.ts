import { type Standin, standinInstaller, standins } from "../../src/lab/standin.js";
import { quote } from "../../src/quote.js";
import { inHost } from "./clm.js";

export interface Answer {
  status: number;
  headers: string;
  body: string;
}

export interface Wish {
  env?: Record<string, string>;
  config?: object;
  /** Misbehaviour of the stand-in. */
  switches?: string[];
}

export interface Ask {
  /** The bearer token; empty for none. */
  key?: string;
  headers?: string[];
  body?: unknown;
}

/** A stand-in Hermes with its own user on a lab host, run by systemd without clm. */
export function standinOn(host: string, version: Standin) {
  const user = `stand${standins[version].reports.split(".")[1]}`;
  const home = `/home/${user}`;
  const data = `${home}/.hermes`;
  const unit = `standin-${user}.service`;
  const key = "0123456789abcdef".repeat(4);
  const usual = { API_SERVER_KEY: key, API_SERVER_PORT: "8642" };
  const echo = {
    model: { provider: "custom", base_url: "http://127.0.0.1:4180/v1", default: "echo", api_key: "none" },
  };

  const here = (script: string) => inHost(host, script);
  const asUser = (script: string) =>
    here(
      `cd ${home} && runuser -u ${user} -- env HOME=${home} SHELL=/usr/sbin/nologin bash -c ${quote(script)} </dev/null 2>&1`,
    );
  const putting = (path: string, text: string) =>
    `printf %s ${quote(text)} > ${path} && chown ${user}: ${path} && chmod 0600 ${path}`;
  const put = (path: string, text: string) => here(putting(path, text));
  const show = async (property: string) => (await here(`systemctl show --value -p ${property} ${unit}`)).trim();

  const flags = `--skip-setup --branch v${version} --dir ${data}/code --hermes-home ${data}`;
  const stopping = `systemctl stop ${unit} 2>/dev/null; systemctl reset-failed ${unit} 2>/dev/null; true`;
  const stop = () => here(stopping);
  const waiting = (test: string) =>
    `for n in $(seq 150); do ${test} && exit 0; sleep 0.1; done; journalctl -u ${unit} -n 20 >&2; exit 1`;
  const until = (test: string) => here(waiting(test));
  const configuring = ({ env = usual, config = echo, switches = [] }: Wish) => {
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
    return [
      putting(`${data}/.env`, lines.join("")),
      putting(`${data}/config.yaml`, JSON.stringify(config)),
      putting(`${data}/.standin`, `${switches.join("\n")}\n`),
    ].join("\n");
  };
  const starting = (wish: Wish) => {
    const properties = `-p User=${user} -p WorkingDirectory=${home} -p RemainAfterExit=yes`;
    const command = `--setenv=HERMES_HOME=${data} ${home}/.local/bin/hermes gateway run`;
    // Output of the last run must not be taken for this one's.
    const forget = `rm -f ${data}/gateway_state.json`;
    return `${stopping}\n${forget}\n${configuring(wish)}\nsystemd-run -q --unit ${unit} ${properties} ${command} || exit 1`;
  };

  const agent = {
    user,
    home,
    data,
    unit,
    key,
    here,
    asUser,
    put,
    show,
    flags,
    stop,
    until,

    async make() {
      await here(`userdel -rf ${user} 2>/dev/null; useradd -m -k /nonexistent -s /usr/sbin/nologin ${user}`);
      // In pieces: the length of an argument is limited.
      const parts = standinInstaller(version).match(/[\s\S]{1,60000}/g) ?? [];
      await here("rm -f /tmp/standin.sh");
      for (const part of parts) await here(`printf %s ${quote(part)} >> /tmp/standin.sh`);
      await here("chmod 0755 /tmp/standin.sh");
    },
    /** Its output, with its result in the last line. */
    install: (given = flags) => asUser(`bash /tmp/standin.sh ${given}; echo ended with $?`),
    remove: () => here(`systemctl stop ${unit} 2>/dev/null; userdel -rf ${user} 2>/dev/null; rm -f /tmp/standin.sh`),

    configure: (wish: Wish) => here(configuring(wish)),
    start: (wish: Wish = {}) => here(starting(wish)),
    /** Starts, and waits until it answers. */
    up: (wish: Wish = {}) => here(`${starting(wish)}\n${waiting("curl -s -o /dev/null http://127.0.0.1:8642/health")}`),
    /** Waits for its end, and returns its exit code. */
    async ended() {
      await until(`[ "$(systemctl show --value -p MainPID ${unit})" = 0 ]`);
      return Number(await show("ExecMainStatus"));
    },
    journal: () =>
      here(`journalctl -o cat -u ${unit} _SYSTEMD_INVOCATION_ID=$(systemctl show --value -p InvocationID ${unit})`),
    state: async () => JSON.parse(await here(`cat ${data}/gateway_state.json`)),

    async ask(path: string, { key: bearer = key, headers = [], body }: Ask = {}): Promise<Answer> {
      const all = bearer ? [`Authorization: Bearer ${bearer}`, ...headers] : headers;
      const words = all.flatMap((header) => ["-H", header]);
      if (body !== undefined) words.push("-d", typeof body === "string" ? body : JSON.stringify(body));
      const out = await here(
        `curl -s -i --max-time 30 ${words.map(quote).join(" ")} http://127.0.0.1:8642${path} || echo "HTTP/1.1 0 curl $?"`,
      );
      const [head = "", ...rest] = out.split("\r\n\r\n");
      return { status: Number(head.split(" ")[1]), headers: head.toLowerCase(), body: rest.join("\r\n\r\n") };
    },
    chat(text: string, { headers = [], ...more }: { headers?: string[]; stream?: boolean } = {}) {
      const body = { model: "m", messages: [{ role: "user", content: text }], ...more };
      return agent.ask("/v1/chat/completions", { headers, body });
    },
    /** The last request to the echo provider. */
    heard: () => here("journalctl -o cat -u clm-lab-echo -n 1"),
    async query(sql: string): Promise<unknown[][]> {
      const code =
        "import json,sqlite3,sys;print(json.dumps(sqlite3.connect('file:'+sys.argv[1]+'?mode=ro',uri=True).execute(sys.argv[2]).fetchall()))";
      return JSON.parse(await here(`python3 -c ${quote(code)} ${data}/state.db ${quote(sql)}`));
    },
  };
  return agent;
}
