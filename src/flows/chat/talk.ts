import { mustBeSessionId, mustFit, newSessionId } from "../../agents/chat/message.js";
import type { Piece, Streamed } from "../../agents/chat/stream.js";
import { loadType } from "../../agents/manifest/registry.js";
import { Fault, isFault } from "../../errors.js";
import { quote } from "../../quote.js";
import { warmUp } from "../../remote/http.js";
import { type Agent, findAgent } from "../../state/agents.js";
import { openChats } from "../../state/chats.js";
import { type VerifiedApi, verifyPortOwner } from "../agent/verify-port-owner.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { exchange } from "./exchange.js";
import { keepLast } from "./last.js";

/** Which conversation it is to be: a new one, one by its id, or the last one clm had with the agent. */
export type Which = "new" | "last" | { id: string };

export interface TalkOptions {
  which: Which;
  /** Said to the model beside every message. */
  system?: string | undefined;
}

/** A conversation with one agent. */
export interface Talk {
  agent: Agent;
  /** Its id, which the agent may change. */
  readonly session: string;
  /** Connects to the agent's host, if that was not done yet. */
  connected(): Promise<VerifiedApi>;
  /** The same, and looks who is behind the agent's port. */
  ready(): Promise<void>;
  /** Throws before anything is sent when a message can not be sent whole. */
  mustFit(message: string): Promise<void>;
  say(message: string, how: Saying): Promise<Answer>;
  /** What comes next is another conversation. */
  reset(): void;
}

export interface Saying {
  onPiece: (piece: Piece) => void;
  /** Stops the answer: the request is closed, and the agent stops its work. */
  signal: AbortSignal;
}

export interface Answer extends Pick<Streamed, "text" | "cut" | "tokens"> {
  session: string;
  /** The tools it used, in order. */
  tools: { tool: string; label: string }[];
  seconds: number;
}

interface Opening {
  opened: Promise<VerifiedApi>;
  /** Until then it can be stopped. */
  isOpen: boolean;
  stop: AbortController;
}

/** Chat: finds the agent and the conversation, and begins to connect. Nothing is sent before `say`. */
export function openTalk(session: Session, word: string, { which, system }: TalkOptions): Talk {
  const agent = findAgent(session.hosts.read(), word);
  // Whatever the agent says is shown, and it knows more secrets than its own key.
  hideSecrets(session);
  let id = idFor(session, agent, which);
  let door: Opening | undefined;

  function connected(): Promise<VerifiedApi> {
    if (!door) {
      const stop = new AbortController();
      const opened = verifyPortOwner(session, agent, { stop: stop.signal });
      const opening: Opening = { opened, stop, isOpen: false };
      setImmediate(warmUp);
      opening.opened.then(
        () => {
          opening.isOpen = true;
        },
        () => {
          if (door === opening) door = undefined;
        },
      );
      door = opening;
    }
    return door.opened;
  }

  /** A door whose connection is there now. */
  async function doorNow(signal: AbortSignal): Promise<VerifiedApi> {
    const stop = () => {
      if (!door?.isOpen) door?.stop.abort(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      const { connection } = await connected();
      if (!connection.open) door = undefined;
      return await connected();
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async function answerTo(message: string, { onPiece, signal }: Saying): Promise<Answer> {
    const began = Date.now();
    const opened = await doorNow(signal);
    const tools: Answer["tools"] = [];
    let isTaken = false;
    try {
      const { failure: _, ...said } = await exchange(session, opened, {
        ...{ id, text: message, system, signal: AbortSignal.any([session.signal, signal]) },
        onPiece(piece) {
          if ("tool" in piece && piece.status === "running") tools.push({ tool: piece.tool, label: piece.label });
          onPiece(piece);
        },
        taken(other) {
          isTaken = true;
          id = followed(id, other);
          return id;
        },
      });
      return { ...said, session: id, tools, seconds: (Date.now() - began) / 1000 };
    } finally {
      if (isTaken) await keepLast(session, (chats) => chats.set(agent.host.name, agent.name, id, session.now()));
    }
  }

  return {
    agent,
    get session() {
      return id;
    },
    connected,
    ready: async () => (await connected()).api.check(),
    async mustFit(message) {
      const { manifest } = await loadType(session.configDir, agent.record.type);
      const { longest } = manifest.api.chat;
      mustFit(message, longest);
      if (system !== undefined) mustFit(system, longest, "what --system says");
    },
    async say(message, how) {
      try {
        return await answerTo(message, how);
      } catch (error) {
        // The agent may have another port or key by now.
        if (!how.signal.aborted) door = undefined;
        if (isFault(error, "connection-lost")) error.next.push(`clm chat ${agent.ref} --session ${quote(id)}`);
        throw error;
      }
    },
    reset() {
      id = newSessionId(session.now());
    },
  };
}

function idFor(session: Session, agent: Agent, which: Which): string {
  if (which === "new") return newSessionId(session.now());
  const id = which === "last" ? openChats(session.configDir).get(agent.host.name, agent.name) : which.id;
  if (id === undefined) {
    throw new Fault("not-found", `clm has had no conversation with ${agent.name} yet`, {
      next: `clm chat ${agent.ref}`,
    });
  }
  mustBeSessionId(id);
  return id;
}

/** The agent goes on under another id when it has folded a long conversation. */
function followed(id: string, told: string | undefined): string {
  if (!told || told === id) return id;
  try {
    mustBeSessionId(told);
    return told;
  } catch {
    return id;
  }
}
