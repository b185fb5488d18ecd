import { defaultGatewayUrl, defaultPort, defaultSignProxyPort } from "../../flows/gateway/defaults.js";
import { choice, command, flag, number, port, required, text } from "../command.js";
import { sudoOption } from "../shared-options.js";
import { key, usage } from "./keys/commands.js";
import { tools } from "./tools/client-tools.js";

const toolChoices = [...tools, "all"] as const;

export const serve = command({
  path: "gateway serve",
  summary: "run the gateway: one OpenAI-compatible API for every agent",
  description: `Listens on 127.0.0.1 until Ctrl-C and serves OpenAI's API: /v1/models, /v1/chat/completions and
/v1/responses, plain and streamed, /v1/embeddings where the agent supports it, /health and /metrics. A model is an
agent, named AGENT or HOST/AGENT, or a model of its proxy, named AGENT/proxy/MODEL. Clients need a key from 'clm
gateway key create'; the agents' own keys stay here.

Requests travel through SSH connections that are kept open. When a host or an agent is down, requests to it fail at
once; the gateway reconnects when it is back. Every request is recorded in the gateway's audit log, except /health and
requests without a key to unknown paths; while the log cannot be written, requests are refused. The log keeps its last
20 files of 64 MiB each. After Ctrl-C, running requests have ten seconds to finish.

Passwords are prompted for only at start. With -o json one line is printed for each of ready, lost, back and stopped.
--config names a YAML file with port, listen, tls {cert, key}, expose_to_network, log_bodies, audit {max_bytes, keep},
drain, first_byte, silence and total in seconds, max_answer_bytes and max_stream_bytes; options override it.`,
  options: {
    port: number("PORT", `port on this machine; 0 means any free port (default: ${defaultPort})`, {
      min: 0,
      max: 65535,
    }),
    config: text("FILE", "read settings from a YAML file", { completes: "file" }),
    listen: text("ADDRESS", "address to listen on (default: 127.0.0.1)"),
    tlsCert: text("FILE", "certificate, for https", { completes: "file" }),
    tlsKey: text("FILE", "private key of the certificate", { completes: "file" }),
    exposeToNetwork: flag("allow an address that other machines can reach; requires TLS"),
    logBodies: flag("record requests and answers in the audit log"),
    ...sudoOption,
  },
  formats: ["table", "json"],
  examples: [
    "clm gateway serve",
    "clm gateway serve --port 0 -o json   # any free port, printed as JSON",
    "clm gateway serve --listen 192.168.1.5 --tls-cert cert.pem --tls-key key.pem --expose-to-network   # for other machines",
  ],
  load: () => import("./serve.js"),
});

export const signProxy = command({
  path: "gateway sign-proxy",
  summary: "sign requests for tools that cannot",
  description: `Listens on a port of 127.0.0.1 until Ctrl-C, signs every request that a tool sends there, and forwards
it to the gateway; answers are streamed back. For keys created with --signed: such a key is never sent, and an
intercepted request cannot be replayed.

The key comes from --key-file, --key-env or stdin and is never an argument. Everyone with an account on this machine
can connect to the port, so tools must send a local key as their bearer token: a random one, printed once as part of
the settings, or your own with --local-key. The local key never leaves this machine; the tool's Authorization header
is dropped. --open requires no local key: then every user and program on this machine can spend the budget of the
gateway key.

A gateway on another machine must use https; set NODE_EXTRA_CA_CERTS to trust a certificate of your own. With -o json
one line is printed when the proxy is ready, including the local key.`,
  options: {
    keyFile: text("FILE", "read the gateway key from FILE", { completes: "file" }),
    keyEnv: text("NAME", "read the gateway key from this environment variable"),
    to: text("URL", `URL of the gateway (default: ${defaultGatewayUrl})`),
    port: port(`port on this machine (default: ${defaultSignProxyPort}, or any free port)`),
    localKey: text(
      "SOURCE",
      "the key tools must send: env:NAME, file:PATH or cmd:COMMAND (default: a random one, printed once)",
    ),
    open: flag("require no local key: every user of this machine can use the gateway key"),
    tool: choice("TOOL", toolChoices, "print the settings for this tool", { default: "shell" }),
  },
  formats: ["table", "json"],
  examples: [
    "clm gateway sign-proxy --key-file ~/.clm-gateway-key",
    "clm gateway sign-proxy --key-env CLM_SIGNED_KEY --tool codex",
    "clm gateway sign-proxy --key-file key --local-key file:local-key --port 4142   # the tools keep their settings",
    "clm gateway sign-proxy --to https://gateway.example:4141 < key   # a gateway on another machine",
  ],
  load: () => import("./sign-proxy.js"),
});

export const env = command({
  path: "gateway env",
  summary: "print the settings that make tools use a key",
  description: `For Codex, Aider, Cline, curl and the openai libraries. The key itself cannot be printed, because only
its hash is stored: the settings read it from the variable CLM_GATEWAY_KEY. For a signed key they point to 'clm
gateway sign-proxy'. Nothing is contacted: the models are the agents that the key may use, as recorded; the first one
that has answered before is the default.`,
  args: { key: required("the key's name or id") },
  options: {
    tool: choice("TOOL", toolChoices, "print the settings for this tool", { default: "all" }),
    url: text("URL", `URL of the gateway (default: ${defaultGatewayUrl})`),
    model: text("MODEL", "AGENT, HOST/AGENT or AGENT/proxy/MODEL (default: an agent the key may use)"),
  },
  formats: ["table", "json", "yaml"],
  examples: [
    "clm gateway env ci",
    "clm gateway env ci --tool codex --model hermes-test",
    "clm gateway env ci --tool curl -o json | jq -r '.settings[0].text'",
  ],
  load: () => import("./env.js"),
});

export const audit = command({
  path: "gateway audit",
  summary: "show the gateway's requests: key, agent, result, cost",
  description: `The log has one line per request, refused ones included: key, agent, model, result, tokens, cost and
time. Messages are recorded only when the gateway runs with --log-bodies. Each line contains the hash of the previous
one, so a changed, moved or deleted line is detected: --verify checks the whole chain, over all files of the log, and
exits with 30 when it is broken. It can run while the gateway does.

A line is written before the answer ends, and a request whose line cannot be written is refused. Killing the gateway
loses no line; a power failure loses at most the last second.`,
  options: {
    verify: flag("check that no line was changed or removed"),
    follow: flag("keep printing new requests until Ctrl-C", { short: "f" }),
    limit: number("N", "the last N requests (default 50; with --follow 10, with --since all)", {
      min: 0,
      max: 1_000_000,
    }),
    key: text("KEY", "only requests with this key, by name or id"),
    agent: text("NAME", "only requests to this agent: NAME, HOST/NAME or a pattern", { completes: "agent" }),
    status: text("STATUS", "only requests with this result: 429, 4xx or a code such as invalid_api_key"),
    since: text("TIME", "start time: 90s, 15m, 2h, 3d ago, or 09:30, 2026-11-16, '2026-11-16 09:30'"),
  },
  formats: ["table", "json"],
  examples: [
    "clm gateway audit --since 1h --status 4xx",
    "clm gateway audit -f --agent hermes-test",
    "clm gateway audit --key codex --limit 1000 -o json | jq '[.[].usd // 0] | add'",
    "clm gateway audit --follow -o json | jq -r .model   # one object per line",
    "clm gateway audit --verify",
  ],
  load: () => import("./audit.js"),
});

export const gateway = {
  commands: [serve, usage, signProxy, env, audit],
  nouns: [key],
};
