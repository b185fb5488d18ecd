import { setTimeout as sleep } from "node:timers/promises";
import { clockOf } from "../../agents/logs/clock.js";
import { type Asking, logsScript } from "../../agents/logs/script.js";
import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { limit } from "../../async/limit.js";
import { asFault, Fault, isFault } from "../../errors.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { cleanCut } from "../clean-cut.js";
import type { Session } from "../session.js";
import { listen } from "./listen.js";
import { type Outlet, outlet } from "./outlet.js";
import { createVoice, type Told, type Voice, type Wanted } from "./voice.js";

export type { Told } from "./voice.js";

export type LogsWish = Omit<Asking, "again"> & Wanted;

/** Who is told of what agents say. */
export interface Audience {
  /** Waited for: while nobody takes it, no more is heard. */
  entries: (told: Told[]) => Promise<void> | void;
  /** Something keeps us from hearing an agent, or all agents of a host. The others are heard all the same. */
  trouble: (fault: Fault) => void;
}

const hostsAtOnce = 64;
/** Bytes of a line, and of an entry, that are kept. */
const longest = 1 << 20;
/** Characters of what all of them said before that are kept until it is in order. */
const mostPast = 1 << 27;
/** Milliseconds that sources may come after each other and still be put in order; the screen is behind by as much. */
const reorder = 20;
/** Milliseconds that hosts are waited for before others go live. */
const timeout = 3000;
// Milliseconds a host may take to find the next line, where its logs are read to their end.
const silence = 90_000;
/** Milliseconds before a host that was lost is called again: longer each time, until it was there for a while. */
const pauses = [500, 1000, 2000, 5000];
const aWhile = 10_000;
/** Seconds that are asked for once more, as not all that was said then need have come here. */
const overlap = 5;

/** Logs: what agents said, in the order of time, and with `follow` what they say from then on. Changes nothing. */
export async function tellLogs(
  session: Session,
  agents: readonly Agent[],
  wish: LogsWish,
  audience: Audience,
): Promise<Fault[]> {
  const clean = cleanCut(session);
  const room = Math.floor(mostPast / agents.length);
  const tooMuch = (agent: Agent) =>
    session.ui.warn(`${agent.name} said more than can be put in order here, so the earliest is left out: ask for less`);
  const voices = new Map(
    agents.map((agent) => [agent, createVoice({ agent, wanted: wish, longest, clean, room, tooMuch })]),
  );
  const faults: Fault[] = [];
  const trouble = (fault: Fault) => {
    faults.push(fault);
    audience.trouble(fault);
  };
  const out = outlet(audience.entries, session.signal);
  const stage = onStage([...voices.values()], out);
  const slot = limit(hostsAtOnce);
  const hosts = [...new Set(agents.map(({ host }) => host.name))].map((name) =>
    [...voices.values()].filter(({ agent }) => agent.host.name === name),
  );
  const work = hosts.map((those) => {
    const hear = () => hearHost(session, those, wish, { stage, trouble, warn: (text) => session.ui.warn(text) });
    // Who follows never ends: nobody can wait for a turn.
    return wish.follow ? hear() : slot(hear);
  });
  const late = wish.follow ? setTimeout(stage.open, timeout) : undefined;
  try {
    await Promise.all(work);
  } finally {
    clearTimeout(late);
  }
  stage.open();
  stage.close();
  await out.close();
  return faults;
}

interface Stage {
  /** Something was heard. */
  stir(voice: Voice): void;
  /** All that an agent said before was heard, or nothing will be. */
  ready(voice: Voice): void;
  /** Begins to tell, whoever is not there yet. */
  open(): void;
  /** Resolves when what was told is taken. */
  room(): Promise<void> | undefined;
  close(): void;
}

/** First what all of them said before, as one; then what each says, as it comes. */
function onStage(voices: Voice[], out: Outlet<Told[]>): Stage {
  const waiting = new Set(voices);
  const stirred = new Set<Voice>();
  let opened = false;
  let timer: NodeJS.Timeout | undefined;

  const inOrder = (parts: Told[][]) => {
    const told = parts.flat().sort((a, b) => a.at - b.at);
    if (told.length > 0) out.tell(told);
  };
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    inOrder([...stirred].map((voice) => voice.news()));
    stirred.clear();
  }
  function open(): void {
    if (opened) return;
    opened = true;
    inOrder(voices.filter((voice) => !waiting.has(voice)).map((voice) => voice.past()));
    if (stirred.size > 0) flush();
  }

  return {
    open,
    room: out.room,
    stir(voice) {
      if (waiting.has(voice)) return;
      stirred.add(voice);
      if (opened) timer ??= setTimeout(flush, reorder);
    },
    ready(voice) {
      if (!waiting.delete(voice)) return;
      if (opened) inOrder([voice.past()]);
      else if (waiting.size === 0) open();
    },
    close: flush,
  };
}

interface Surroundings {
  stage: Stage;
  trouble: (fault: Fault) => void;
  warn: (text: string) => void;
}

/** Hears all agents of a host with one exec; who follows calls again when the host is lost. */
async function hearHost(
  session: Session,
  voices: Voice[],
  wish: LogsWish,
  { stage, trouble, warn }: Surroundings,
): Promise<void> {
  const host = voices[0]?.agent.host as Host;
  const noted = new Set<string>();
  // What is looked for may stand anywhere: the host does not look for it.
  let asking: Asking = wish.grep && wish.lines !== 0 ? { ...wish, lines: undefined } : wish;
  /** When something was heard last, by the host's clock. */
  let heardAt: number | undefined;
  let ahead = 0;
  const hostNow = () => Date.now() + ahead;
  let failures = 0;
  let away = false;
  let since = 0;

  async function once(): Promise<void> {
    // Reading manifests takes about as long as the handshake: both at once.
    const [connection, resolvedAgents] = await Promise.all([
      session.pool.connect(host),
      Promise.all(voices.map(({ agent }) => subjectFor(session, agent))),
    ]);
    const remark = (words: string[], number: number | undefined) => {
      const voice = number === undefined ? undefined : voices[number];
      if (words[0] === "clock") {
        const [, seconds = "", offset = "", zone = ""] = words;
        // A host that cannot tell the time is taken to have ours.
        if (/^\d{1,11}$/.test(seconds)) ahead = Number(seconds) * 1000 - Date.now();
        heardAt ??= hostNow();
        for (const each of voices) each.begin(clockOf(offset, zone), hostNow);
        if (away) warn(`${host.name} is back`);
        away = false;
        since = Date.now();
      } else if (voice && words[0] === "past") {
        voice.arrive();
        stage.ready(voice);
        stage.stir(voice);
      } else if (voice && !noted.has(`${number} ${words[0]}`)) {
        noted.add(`${number} ${words[0]}`);
        trouble(missing(voice.agent, words[0] === "no-account"));
      }
    };
    const line = (heard: Parameters<Voice["take"]>[0]) => {
      const voice = voices[heard.agent];
      if (!voice) return;
      heardAt = hostNow();
      voice.take(heard);
      stage.stir(voice);
    };
    const hears = { longest, line, remark, room: stage.room, silence: wish.follow ? undefined : silence };
    await listen(connection, logsScript(resolvedAgents, asking), hears, session.signal);
  }

  for (;;) {
    try {
      await once();
      return;
    } catch (error) {
      if (session.signal.aborted) return;
      const fault = asFault(error);
      // Who was never heard is not called again: the address or the login may be wrong.
      if (!wish.follow || heardAt === undefined || !isFault(fault, "connection-lost", "unreachable", "remote-failed")) {
        for (const voice of voices) stage.ready(voice);
        return trouble(fault);
      }
      if (!away) warn(`${[fault.message, ...fault.why].join(": ")}; trying again`);
      if (!away && Date.now() - since > aWhile) failures = 0;
      away = true;
      failures++;
      const at = Math.floor(heardAt / 1000) - overlap;
      asking = { ...wish, since: { at }, lines: undefined, level: "debug", again: true };
      await sleep(pauses[Math.min(failures, pauses.length) - 1], undefined, { signal: session.signal }).catch(() => {});
      if (session.signal.aborted) return;
    }
  }
}

async function subjectFor({ configDir }: Session, agent: Agent): Promise<ResolvedAgent> {
  const { manifest } = await loadType(configDir, agent.record.type);
  return resolvedAgent(manifest, agent);
}

const missing = ({ host, name, ref, record }: Agent, account: boolean): Fault =>
  new Fault("check-failed", `${name} is not on ${host.name} as it was installed`, {
    why: account ? `there is no account ${record.user}, so none of its log files` : `there is no unit ${record.unit}`,
    next: `clm ps ${ref}`,
  });
