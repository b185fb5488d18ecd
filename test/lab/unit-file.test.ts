import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { dotenvFile } from "../../src/agents/files/dotenv.js";
import { loadType, releaseOf } from "../../src/agents/manifest/registry.js";
import { accountOperations, removalOperations, unitOperation } from "../../src/agents/plan/operations.js";
import { pathsFor, type ResolvedAgent } from "../../src/agents/plan/resolved-agent.js";
import { quote } from "../../src/quote.js";
import type { Connection } from "../../src/remote/connection.js";
import { converge } from "../../src/remote/operations/converge.js";
import { dir, file, type Operation, unit } from "../../src/remote/operations/operation.js";
import { inHost } from "./clm.js";
import { connectTo } from "./connect.js";

const shared = inject("fleetHome");
const { manifest } = await loadType("/nonexistent", "hermes");

function resolved(user: string, relaxed = false): ResolvedAgent {
  const version = manifest.default;
  const paths = pathsFor(manifest, user);
  const release = releaseOf(manifest, version);
  return {
    manifest,
    version,
    release,
    host: "x",
    name: user,
    ref: user,
    user,
    unit: `hermes-${user}.service`,
    port: 8642,
    relaxed,
    adopted: false,
    channels: [],
    servers: [],
    settings: {},
    serves: "http" as const,
    paths,
  };
}

/** Replaces the launcher: reports what it can do inside the unit, then stays up as Hermes does. */
const launcher = `#!/bin/sh
trap 'exit 0' INT
trap 'exit 1' TERM
try() { what=$1; shift; if "$@" >/dev/null 2>&1; then echo "$what: yes"; else echo "$what: no"; fi; }
{
  echo "args: $*"
  echo "who: $(id -un) $USER $LOGNAME $HOME $HERMES_HOME $(pwd) $(umask)"
  echo "path: $PATH"
  echo "from .env: $(sed -n "s/^GREETING=//p" "$HERMES_HOME/.env")"
  echo "stolen: $STOLEN$(cat "$HERMES_HOME/.env" 2>/dev/null | sed -n "s/^STOLEN=//p")"
  echo "homes: $(ls /home)"
  try 'write home' touch "$HOME/written"
  try 'write /tmp' touch /tmp/written
  try 'write /etc' touch /etc/written
  try 'read other home' cat /home/neighbour/public
  try 'new namespace' unshare --user true
  try 'use sudo' sudo -n true
  echo ready
} >"$HOME/told" 2>&1
while :; do sleep 1000 & wait $!; done
`;

/** What its unit reads. */
const filesOf = ({ user: owner, paths, unit: restarts }: ResolvedAgent, greeting: string): Operation[] => [
  file(paths.env, {
    owner,
    mode: 0o600,
    content: dotenvFile(new Map([["GREETING", greeting]])),
    secret: true,
    restarts,
  }),
  file(paths.config ?? "", { owner, mode: 0o600, content: "{}\n", restarts }),
];

const wait = (condition: string) => `for n in $(seq 200); do ${condition} && exit 0; sleep 0.1; done; exit 1`;

describe.each(["trial-1", "trial13-1"])("a unit on %s", (host) => {
  let connection: Connection;
  let systemd: number;
  const agent = resolved("closed");
  const browsing = resolved("browsing", true);
  const all = [agent, browsing];

  const apply = async (...operations: Operation[]) => {
    const { failed } = await converge(connection.as("root"), operations, { mode: "apply" });
    expect(failed).toBeUndefined();
  };

  beforeAll(async () => {
    connection = await connectTo(shared, host);
    systemd = Number((await inHost(host, "systemctl --version")).split(" ")[1]);
    await inHost(
      host,
      "mkdir -p /home/neighbour && echo hello > /home/neighbour/public && echo STOLEN=yes-stolen > /root/x.env",
    );
    for (const each of all) {
      const { home } = each.paths;
      const own = { owner: each.user, mode: 0o700 };
      await apply(
        ...accountOperations(each, "0123abcd"),
        ...filesOf(each, "it's  me"),
        dir(`${home}/.local`, own),
        dir(`${home}/.local/bin`, own),
        file(each.paths.launcher, { ...own, content: launcher }),
        unitOperation(each, systemd),
      );
    }
  });
  afterAll(async () => {
    for (const each of all) await apply(...removalOperations(each));
    await inHost(host, "rm -r /home/neighbour /root/x.env");
    connection.close();
  });

  const told = async ({ unit: name, paths }: ResolvedAgent) => {
    const path = quote(`${paths.home}/told`);
    await inHost(host, `rm -f ${path}; systemctl restart ${name}`);
    await inHost(host, wait(`grep -q ready ${path} 2>/dev/null`));
    return Object.fromEntries((await inHost(host, `cat ${path}`)).split("\n").map((line) => line.split(": ")));
  };

  it.each(all)("$name: is accepted by systemd without a warning", async ({ unit: name }) => {
    const said = await inHost(
      host,
      `systemd-analyze verify /etc/systemd/system/${name} 2>&1 | grep -F ${name} || true`,
    );
    expect(said).toBe("");
    expect(await inHost(host, `systemctl is-enabled ${name} || true; systemctl is-active ${name} || true`)).toBe(
      "disabled\ninactive\n",
    );
  });

  it("has a low exposure score", async () => {
    const exposure = async ({ unit: name }: ResolvedAgent) =>
      Number(/: (\d+\.\d) /.exec(await inHost(host, `systemd-analyze security --no-pager ${name} | tail -1`))?.[1]);
    expect(await exposure(agent)).toBeLessThanOrEqual(3);
    expect(await exposure(browsing)).toBeGreaterThan(await exposure(agent));
    expect(await exposure(browsing)).toBeLessThanOrEqual(5);
  });

  it("lets the agent write in its home, and nowhere else", async () => {
    const { home, data, path } = agent.paths;
    expect(await told(agent)).toMatchObject({
      args: "gateway run",
      who: `closed closed closed ${home} ${data} ${home} 0077`,
      path: expect.stringMatching(new RegExp(`^${path.join(":")}:.*:/usr/bin:`)),
      "from .env": '"it\'s  me"',
      homes: "closed",
      "write home": "yes",
      "write /tmp": "yes",
      "write /etc": "no",
      "read other home": "no",
      "new namespace": "no",
      "use sudo": "no",
    });
    await inHost(host, `test -e ${home}/written && ! test -e /tmp/written`);
  });

  it("lets a relaxed agent create namespaces", async () => {
    const can = (
      await inHost(host, "setpriv --reuid browsing --clear-groups unshare --user true && echo yes || echo no")
    ).trim();
    expect(await told(browsing)).toMatchObject({
      "write home": "yes",
      "write /etc": "no",
      "read other home": "no",
      "new namespace": can,
      "use sudo": "no",
    });
  });

  it("works in a home with an odd name", async () => {
    const home = "/srv/100% odd $HOME";
    const odd = { ...resolved("odd"), paths: pathsFor(manifest, "odd", home) };
    const own = { owner: "odd", mode: 0o700 };
    await apply(
      ...accountOperations(odd, "0123abcd"),
      ...filesOf(odd, "hello"),
      ...[dir(`${home}/.local`, own), dir(`${home}/.local/bin`, own)],
      file(odd.paths.launcher, { ...own, content: launcher }),
      unitOperation(odd, systemd),
    );
    expect(await told(odd)).toMatchObject({
      args: "gateway run",
      who: `odd odd odd ${home} ${odd.paths.data} ${home} 0077`,
      "from .env": "hello",
      homes: "",
      "write home": "yes",
      "write /etc": "no",
    });
    await apply(...removalOperations(odd));
  });

  it("is not failed after a stop, and restarts when the agent asks for it", async () => {
    const { unit: name, paths } = agent;
    await told(agent);
    await apply(unit(name, { state: "stopped" }));
    expect(await inHost(host, `systemctl show --property ActiveState,Result --value ${name} | sort`)).toBe(
      "inactive\nsuccess\n",
    );

    await inHost(
      host,
      `rm ${paths.home}/told; sed -i 's/^  echo ready/&\\n[ -e ~\\/again ] || { touch ~\\/again; exit 75; }/' ${paths.launcher}`,
    );
    await inHost(host, `systemctl start ${name}`);
    await inHost(
      host,
      wait(`[ "$(systemctl show --property NRestarts,SubState --value ${name} | sort | xargs)" = '1 running' ]`),
    );
    await inHost(host, `systemctl stop ${name}`);
  });

  const spoiled = async (spoil: string) => {
    const { unit: name, paths } = agent;
    return inHost(
      host,
      `systemctl reset-failed ${name}; rm -f ${paths.home}/told; cd ${paths.data}; cp -a .env /root/kept
       ${spoil}
       timeout 20 systemctl start ${name} 2>&1 || true
       for n in $(seq 50); do grep -qs ^ready ${paths.home}/told && break; sleep 0.1; done
       cat ${paths.home}/told 2>/dev/null || true
       systemctl stop ${name}
       rm -f ${paths.env}; mv /root/kept ${paths.env}`,
    );
  };

  it("does not start without .env", async () => {
    const said = await spoiled("rm .env");
    expect(said).toContain("Assertion failed");
    expect(said).not.toContain("args:");
  });

  it("does not read a foreign file that .env links to", async () => {
    const said = await spoiled("ln -sfn /root/x.env .env");
    expect(said).toContain("stolen: \n");
    expect(said).not.toContain("yes-stolen");
  });
});
