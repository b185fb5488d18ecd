import { isUtf8 } from "node:buffer";
import { objectFrom } from "../../../text/json-object.js";
import { namedByOthers } from "../../../text/own-property.js";
import type { ObservedHost, ObservedText } from "../../plan/plan.js";
import type { ListeningPort } from "../../plan/ports.js";
import { parseLines, textFrom } from "../script.js";
import type { ChannelState } from "./connections.js";

export interface Observation extends ObservedHost {
  account: boolean;
  uid?: number;
  version?: string;
  /** `regular file:maurice:600` by the path's name; empty when there is none. */
  files: Record<string, string>;
  /** Seconds since its main process started. */
  age?: number;
  listeners: Listener[];
  /** Ports of its processes that other machines can reach; undefined when not probed. */
  openPorts?: OpenPort[];
  /** Connections to the port, made by clm or root, whose other end is not the agent's. */
  strangers: Process[];
  /** HTTP statuses by request; 0 when there was no answer. */
  answers: Record<string, number>;
  /** The host has no bash to send requests with. */
  noBash: boolean;
  chat?: { status: number; headers: Record<string, string>; body: string };
  /** When the model was asked, in seconds since 1970 by the host's clock. */
  asked?: string;
  /** The platforms in gateway_state.json; undefined when not probed. */
  channels?: Record<string, ChannelState>;
  /** Lines of its log about MCP servers; undefined when not probed. */
  serverLines?: string[];
  words: string[];
  /** Every listening port of the host. */
  ports: ListeningPort[];
}

/** The process that has a socket; 0 when none was found. */
export interface Process {
  pid: number;
  user: string;
  command: string;
}

/** A port that is bound to more than the loopback. */
export interface OpenPort {
  /** As the kernel writes it. */
  address: string;
  port: number;
  pid: number;
  command: string;
}

export interface Listener extends Process {
  /** As the kernel writes it: hex, each group of four bytes reversed. */
  address: string;
  own: boolean;
}

/** Parses the output of proof.sh; undefined when it is incomplete. */
export function parseObservation(text: string): Observation | undefined {
  const seen: Observation = {
    account: false,
    files: {},
    unit: {},
    listeners: [],
    strangers: [],
    answers: {},
    noBash: false,
    variables: new Map(),
    service: "",
    systemd: 0,
    texts: {},
    words: [],
    ports: [],
  };
  let address = "";
  const service: string[] = [];
  let platforms: string[] | undefined;
  const texts = namedByOthers<{ size: string; pieces: string[] }>();
  let chat: string | undefined;
  const said = parseLines(text);
  for (const [key, value] of said ?? []) {
    const [group, name = ""] = key.split(".");
    const words = value.split(" ");
    if (key === "uid") Object.assign(seen, { account: value !== "" }, value !== "" && { uid: Number(value) });
    else if (key === "comment") seen.comment = value;
    else if (key === "version") seen.version = value;
    else if (group === "file") seen.files[name] = value;
    else if (group === "unit") seen.unit[name] = value;
    else if (key === "age") seen.age = Number(value) / 100;
    else if (key === "listen") address = value.split("/")[0] ?? "";
    else if (key === "holder")
      seen.listeners.push({ address, own: words[0] === "yes", ...processFrom(words.slice(1)) });
    else if (key === "open-ports") seen.openPorts = [];
    else if (key === "open-port") seen.openPorts?.push(openPortFrom(words));
    else if (key === "stranger") seen.strangers.push(processFrom(words));
    else if (["health", "none", "wrong", "own"].includes(key)) seen.answers[key] = Number(value);
    else if (key === "bash") seen.noBash = true;
    else if (key === "chat") chat = (chat ?? "") + value;
    else if (key === "variable") seen.variables.set(words[0] ?? "", words[1] ?? "");
    else if (key === "service") service.push(value);
    else if (group === "size") texts[name] = { size: value, pieces: [] };
    else if (group === "text") texts[name]?.pieces.push(value);
    else if (key === "systemd") seen.systemd = Number(value);
    else if (key === "port") seen.ports.push(portFrom(value));
    else if (key === "log") seen.words.push(value);
    else if (key === "asked") seen.asked = value;
    // The process that was asked has been replaced since: its answer does not count.
    else if (key === "replaced") chat = "";
    else if (key === "connections") platforms = [];
    else if (key === "gateway") platforms?.push(value);
    else if (key === "servers") seen.serverLines = [];
    else if (key === "server") seen.serverLines?.push(value);
  }
  if (platforms !== undefined) seen.channels = channelsFrom(textFrom(platforms).toString("utf8"));
  if (chat !== undefined) seen.chat = chatFrom(Buffer.from(chat, "base64").toString("utf8"));
  seen.service = textFrom(service).toString("utf8");
  for (const [name, { size, pieces }] of Object.entries(texts)) seen.texts[name] = seenText(size, textFrom(pieces));
  return said && seen;
}

function seenText(size: string, bytes: Buffer): ObservedText {
  // A shell drops NUL bytes.
  const whole = size !== "" && Number(size) === bytes.length && isUtf8(bytes);
  return { there: size !== "", ...(whole && { text: bytes.toString("utf8") }) };
}

/** The agent may write anything there. */
function channelsFrom(text: string): Record<string, ChannelState> {
  const platforms = objectFrom<{ platforms?: unknown }>(text)?.platforms;
  if (typeof platforms !== "object" || platforms === null) return {};
  return Object.fromEntries(Object.entries(platforms).map(([name, entry]) => [name, channelFrom(entry)]));
}

function channelFrom(entry: unknown): ChannelState {
  const { state, error_message: error, updated_at: at } = (entry ?? {}) as Record<string, unknown>;
  const updated = typeof at === "string" ? Date.parse(at) : Number.NaN;
  return {
    state: String(state),
    ...(typeof error === "string" && error !== "" && { error }),
    ...(!Number.isNaN(updated) && { updated }),
  };
}

function portFrom(text: string): ListeningPort {
  const [port, uid] = text.split("/").map(Number);
  return { port: port ?? 0, uid: uid ?? 0 };
}

const openPortFrom = ([address = "", port, pid, ...command]: string[]): OpenPort => ({
  address,
  port: Number(port),
  pid: Number(pid),
  command: command.join(" "),
});

const processFrom = ([pid, user = "?", ...command]: string[]): Process => ({
  pid: Number(pid),
  user,
  command: command.join(" "),
});

function chatFrom(text: string): { status: number; headers: Record<string, string>; body: string } {
  // Any number of answers in advance (1xx) may come before the answer.
  const answer = text.replace(/^(?:HTTP\/\S+ 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n)+(?=.)/, "");
  const [head = "", body = ""] = answer.split(/\r?\n\r?\n(.*)/s, 2);
  const [first = "", ...lines] = head.split(/\r?\n/);
  const status = Number(/^HTTP\/\S+ (\d{3})/.exec(first)?.[1] ?? 0);
  const headers = lines.map((line) => [line.split(":")[0]?.toLowerCase() ?? "", line.replace(/^[^:]*:\s*/, "")]);
  return { status, headers: Object.fromEntries(headers), body };
}
