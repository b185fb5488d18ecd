import { sh } from "../../../quote.js";
import type { ChatDialect, ChatRequest } from "../../chat/dialect.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { apiSettings, filesCalls, type OwnPart, probeScript, serviceCall } from "../script.js";
import { proofLibrary } from "./library.js";
import { newProofSession } from "./session.js";

/** What a plan needs to know of the host: systemd, the managed files by name, and digests of the lines of `.env`. */
export interface PlanInputs {
  /** Empty for the names of the variables alone. */
  salt: string;
  texts: Record<string, string>;
}

export interface ProbeOptions {
  /** How one real question is asked when the key is accepted; without it, none is. */
  chat?: ChatDialect | undefined;
  /** Also probe the inputs of a plan. */
  planned?: PlanInputs | undefined;
  /** Also every listening port. */
  ports?: boolean;
  /** Also the state of its channels and MCP servers. */
  connections?: boolean;
  /** Only the log since then, in seconds since 1970 by the host's clock; without a time, since its last start. */
  words?: { since?: string | undefined } | undefined;
}

const question = "Say only the word OK.";
/** Milliseconds for one word of a model. */
export const chatTimeout = 120_000;

/** It holds no secret: the key is the first line on its stdin. */
export function proofScript(agent: ResolvedAgent, options: ProbeOptions): string {
  const chat = options.chat?.request(agent, { session: newProofSession(), text: question, maxTokens: 16 });
  const salt = options.planned?.salt ?? "";
  const parts: OwnPart[] = ["version"];
  if (options.planned) parts.push("variable");
  if (options.connections) parts.push("gateway");
  const files = filesCalls(agent, parts, { texts: options.planned?.texts });
  return probeScript(agent, proofLibrary, [
    apiSettings(agent),
    sh`salt=${salt}`,
    ...(chat ? chatVariables(chat) : ["chat= chat_path= chat_session= chat_body="]),
    // The rest of stdin is for the next command of a shared shell.
    "IFS= read -r key; exec </dev/null",
    "probe_account",
    ...(options.words
      ? [sh`probe_log ${options.words.since ?? []}`]
      : [
          ...(options.planned ? ["probe_plan_inputs"] : []),
          ...(options.ports ? ["probe_ports"] : []),
          files.probe,
          "probe_unit",
          ...files.read,
          ...(options.connections ? serverCalls(agent) : []),
          "probe_open_ports",
          serviceCall(agent),
        ]),
  ]);
}

function chatVariables({ path, headers, body }: ChatRequest): string[] {
  // The script sends the content type itself.
  const { "Content-Type": _, ...others } = headers;
  const lines = Object.entries(others).map(([name, value]) => `${name}: ${value}`);
  return [
    sh`chat=yes chat_path=${path} chat_seconds=${chatTimeout / 1000} chat_body=${body}`,
    sh`chat_session=${lines.join("\r\n")}`,
  ];
}

export const serverCalls = ({ servers, manifest }: ResolvedAgent): string[] =>
  servers.length > 0 && manifest.mcp_log ? [sh`probe_servers ${manifest.mcp_log.contains}`] : [];
