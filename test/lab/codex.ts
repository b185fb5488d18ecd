import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { expect } from "vitest";
import { agentsIn } from "./agents.js";
import { clm, inHost } from "./clm.js";

/** A user's own config.toml, with a provider on the host that needs no login. */
export const usersToml = `# my own settings
model = "gpt-5"
model_provider = "echo"

[model_providers.echo]
name = "echo"
base_url = "http://127.0.0.1:4180/v1"
wire_api = "responses"

[tui] # kept as it is
notifications = [
  "agent-turn-complete",
]
`;

/** Writes a file that belongs to the agent. */
export async function give(host: string, user: string, path: string, content: string | Buffer, mode = "600") {
  const script = `d=$(dirname '${path}'); [ -d "$d" ] || { mkdir -p "$d"; chown ${user}: "$d"; }
cat >'${path}' && chown ${user}: '${path}' && chmod ${mode} '${path}'`;
  const { code, stderr } = await clm(["lab", "exec", host, "--", "/bin/sh", "-c", script], {
    home: "/nonexistent",
    input: content,
  });
  expect(code, stderr).toBe(0);
}

/** Installs the real file system server with Node.js, which a lab host does not have. */
export async function giveFileServer(host: string, user: string): Promise<{ command: string; args: string[] }> {
  const home = `/home/${user}`;
  const { outputFiles } = await build({
    entryPoints: ["test/clients/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    logLevel: "error",
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  await give(host, user, `${home}/mcp/server.mjs`, Buffer.from(outputFiles[0]?.contents ?? ""));
  await give(host, user, `${home}/mcp/node`, readFileSync(process.execPath), "700");
  return { command: `${home}/mcp/node`, args: [`${home}/mcp/server.mjs`, home] };
}

// Not every version has a command for it; all have the API call.
const install = (marketplace: string): string => `
import json, subprocess
server = subprocess.Popen(["codex", "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for message in (
    {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "title": "test", "version": "1"}, "capabilities": {}}},
    {"method": "initialized"},
    {"id": 2, "method": "plugin/install", "params": {"marketplacePath": "${marketplace}", "pluginName": "demo"}},
):
    server.stdin.write(json.dumps(message) + "\\n")
    server.stdin.flush()
for line in server.stdout:
    if json.loads(line).get("id") == 2:
        print(line)
        break
server.kill()
`;

/** Creates a marketplace in a directory with one plugin, and lets Codex install it. */
export async function givePlugin(home: string, host: string, user: string): Promise<void> {
  const folder = `/home/${user}/market`;
  const marketplace = {
    name: "clm-local",
    interface: { displayName: "Local" },
    plugins: [
      {
        name: "demo",
        source: { source: "local", path: "./plugins/demo" },
        policy: { installation: "AVAILABLE", authentication: "ON_INSTALL" },
        category: "Productivity",
      },
    ],
  };
  const plugin = { name: "demo", version: "1.0.0", description: "A plugin that does nothing", skills: "./skills/" };
  await give(host, user, `${folder}/.agents/plugins/marketplace.json`, JSON.stringify(marketplace));
  await give(host, user, `${folder}/plugins/demo/.codex-plugin/plugin.json`, JSON.stringify(plugin));
  await inHost(host, `chown -R ${user}: ${folder}`);
  await agentsIn(home).must("agent", "exec", user, "--", "codex", "plugin", "marketplace", "add", folder);
  const input = install(`${folder}/.agents/plugins/marketplace.json`);
  const { stdout, stderr } = await clm(["agent", "exec", user, "--", "python3", "-"], { home, input });
  expect(stdout, stderr).toContain('"result"');
}

/** Digests of everything about an agent that a change could touch. */
export const digests = (host: string, user: string): Promise<string> =>
  inHost(
    host,
    `cd /home/${user} && sha256sum .hermes/config.yaml .hermes/.env .codex/config.toml .codex/AGENTS.md /etc/systemd/system/hermes-${user}.service 2>&1
stat -c '%n %a %U' .codex .codex/config.toml .hermes/config.yaml
systemctl show -p MainPID --value hermes-${user}.service`,
  );
