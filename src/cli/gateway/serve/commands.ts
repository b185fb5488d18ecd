import { defaultPort } from "../../../flows/gateway/defaults.js";
import { command, flag, number, text } from "../../command.js";
import { sudoOption } from "../../shared-options.js";

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
