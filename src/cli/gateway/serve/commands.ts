import { defaultPort } from "../../../flows/gateway/defaults.js";
import { command, flag, number, text } from "../../command.js";
import { sudo } from "../../recurring.js";

export const serve = command({
  path: "gateway serve",
  summary: "open one OpenAI-compatible door to every agent",
  description: `Listens on 127.0.0.1 until Ctrl-C and answers as OpenAI's API does: /v1/models, /v1/chat/completions and /v1/responses, plain and
streamed, /v1/embeddings where the target has it, /health and /metrics. A model is an agent, called AGENT or HOST/AGENT, or one that its
proxy has, called AGENT/proxy/MODEL. Whoever asks needs a key of 'clm gateway key create'; the agents' own keys stay here.

Requests travel inside SSH connections that are kept. A host or an agent that is down gives an error at once, and is reached again
when it is back. Every request has its line in the gateway's audit log, except for /health and, without a key, paths that are none;
when that cannot be written, requests are refused. Of its files, of 64 MiB each, the last 20 are kept beside the one that is written.
Ctrl-C lets what is under way come to its end, for ten seconds.

Passwords are asked for before it is ready, and not after. With -o json one line is printed for each of ready, lost, back and
stopped. --config names a YAML file with port, listen, tls {cert, key}, expose_to_network, log_bodies, audit {max_bytes, keep},
drain, first_byte, silence and total in seconds, max_answer_bytes and max_stream_bytes; what is typed wins.`,
  options: {
    port: number("PORT", `port here; 0 takes any that is free (default: ${defaultPort})`, { min: 0, max: 65535 }),
    config: text("FILE", "take settings from a YAML file", { completes: "file" }),
    listen: text("ADDRESS", "address to listen at (default: 127.0.0.1)"),
    tlsCert: text("FILE", "certificate, for https", { completes: "file" }),
    tlsKey: text("FILE", "its private key", { completes: "file" }),
    exposeToNetwork: flag("an address that others can reach is meant; only with TLS"),
    logBodies: flag("keep in the audit log what was asked and answered"),
    ...sudo,
  },
  formats: ["table", "json"],
  examples: [
    { run: "clm gateway serve" },
    { run: "clm gateway serve --port 0 -o json", note: "any free port, told as JSON" },
    {
      run: "clm gateway serve --listen 192.168.1.5 --tls-cert cert.pem --tls-key key.pem --expose-to-network",
      note: "for other machines",
    },
  ],
  load: () => import("./serve.js"),
});
