import { isUtf8 } from "node:buffer";
import { saidIn } from "../looking.js";

/** What was seen of an agent on its host, at one moment. */
export interface Seen {
  /** Its account is there. */
  account: boolean;
  uid?: number;
  /** What its account says of itself. */
  comment?: string;
  version?: string;
  /** `regular file:maurice:600` by the place's name; empty when there is none. */
  files: Record<string, string>;
  /** Properties of its unit. */
  unit: Record<string, string>;
  /** Seconds since its main process started. */
  age?: number;
  listeners: Listener[];
  /** HTTP statuses by request; 0 when there was no answer. */
  answers: Record<string, number>;
  /** The host has no curl to ask with. */
  noCurl: boolean;
  chat?: { status: number; headers: Record<string, string>; body: string };
  /** Variables of `.env`, with a salted digest of their lines when it was asked for. */
  variables: Map<string, string>;
  config: string;
  /** The text of its unit, when digests were asked for too. */
  service: string;
  systemd: number;
  /** Of files that somebody else writes to as well: what is in them. Nothing of one that is not there or could not be read. */
  texts: Record<string, SeenText>;
  words: string[];
  /** Every port that somebody listens on. */
  ports: { port: number; uid: number }[];
}

export interface SeenText {
  there: boolean;
  text?: string;
}

export interface Listener {
  /** As the kernel writes it: hex, each group of four bytes reversed. */
  address: string;
  own: boolean;
  pid: number;
  user: string;
  command: string;
}

/** Reads the lines of proof.sh; nothing when they do not go to the end. */
export function seenFrom(text: string): Seen | undefined {
  const seen: Seen = {
    account: false,
    files: {},
    unit: {},
    listeners: [],
    answers: {},
    noCurl: false,
    variables: new Map(),
    config: "",
    service: "",
    systemd: 0,
    texts: {},
    words: [],
    ports: [],
  };
  let address = "";
  const pieces = { config: "", service: "" };
  const texts: Record<string, { size: string; text: string }> = {};
  let chat: string | undefined;
  const said = saidIn(text);
  for (const [key, value] of said ?? []) {
    const [group, name = ""] = key.split(".");
    if (key === "uid") Object.assign(seen, { account: value !== "" }, value !== "" && { uid: Number(value) });
    else if (key === "comment") seen.comment = value;
    else if (key === "version") seen.version = value;
    else if (group === "file") seen.files[name] = value;
    else if (group === "unit") seen.unit[name] = value;
    else if (key === "age") seen.age = Number(value) / 100;
    else if (key === "listen") address = value.split("/")[0] ?? "";
    else if (key === "holder") seen.listeners.push({ address, ...holderFrom(value) });
    else if (["health", "none", "wrong", "own"].includes(key)) seen.answers[key] = Number(value);
    else if (key === "curl") seen.noCurl = true;
    else if (key === "chat") chat = (chat ?? "") + value;
    else if (key === "variable") seen.variables.set(...pairFrom(value));
    else if (key === "config" || key === "service") pieces[key] += value;
    else if (group === "size") texts[name] = { size: value, text: "" };
    else if (group === "text" && texts[name]) texts[name].text += value;
    else if (key === "systemd") seen.systemd = Number(value);
    else if (key === "port") seen.ports.push(portFrom(value));
    else if (key === "word") seen.words.push(value);
  }
  if (chat !== undefined) seen.chat = chatFrom(Buffer.from(chat, "base64").toString("utf8"));
  const whole = Object.entries(pieces).map(([name, text]) => [name, Buffer.from(text, "base64").toString("utf8")]);
  for (const [name, { size, text }] of Object.entries(texts)) seen.texts[name] = textFrom(size, text);
  return said && Object.assign(seen, Object.fromEntries(whole));
}

function textFrom(size: string, base64: string): SeenText {
  const bytes = Buffer.from(base64, "base64");
  // Of what is no text, not all would be kept.
  const whole = size !== "" && Number(size) === bytes.length && isUtf8(bytes);
  return { there: size !== "", ...(whole && { text: bytes.toString("utf8") }) };
}

function portFrom(text: string): { port: number; uid: number } {
  const [port, uid] = text.split("/").map(Number);
  return { port: port ?? 0, uid: uid ?? 0 };
}

function pairFrom(text: string): [string, string] {
  const [name = "", digest = ""] = text.split(" ");
  return [name, digest];
}

function holderFrom(text: string): Omit<Listener, "address"> {
  const [own, pid, user = "?", ...command] = text.split(" ");
  return { own: own === "yes", pid: Number(pid), user, command: command.join(" ") };
}

/** What `curl --include` gave: interim answers may stand before the real one. */
function chatFrom(text: string): { status: number; headers: Record<string, string>; body: string } {
  const at = text.search(/\r?\n\r?\n/);
  const head = at < 0 ? text : text.slice(0, at);
  const body = at < 0 ? "" : text.slice(at).replace(/^\r?\n\r?\n/, "");
  const [first = "", ...lines] = head.split(/\r?\n/);
  const status = Number(/^HTTP\/\S+ (\d{3})/.exec(first)?.[1] ?? 0);
  if (status >= 100 && status < 200 && body !== "") return chatFrom(body);
  const headers = lines.map((line) => [line.split(":")[0]?.toLowerCase() ?? "", line.replace(/^[^:]*:\s*/, "")]);
  return { status, headers: Object.fromEntries(headers), body };
}
