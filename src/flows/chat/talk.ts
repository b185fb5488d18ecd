import { isSessionId, mustBeSessionId, mustFit, newSessionId } from "../../agents/chat/message.js";
import type { Piece } from "../../agents/chat/stream.js";
import { chatSettings, loadType } from "../../agents/manifest/registry.js";
import { capability } from "../../agents/type.js";
import { waitFor } from "../../async/wait.js";
import { Fault, isFault } from "../../errors.js";
import { quote } from "../../quote.js";
import { warmUp } from "../../remote/http.js";
import { type Agent, findAgent } from "../../state/agents.js";
import { openChats } from "../../state/chats.js";
import { type VerifiedApi, verifyPortOwner } from "../agent/verify-port-owner.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { type Exchanged, exchange } from "./exchange.js";
import { keepLast } from "./last.js";

/** Which conversation: a new one, the last one that clm had with the agent, or one by its id. */
export type Which = "new" | "last" | { id: string };

export interface TalkOptions {
  which: Which;
  /** Instructions for the model beside every message. */
  system?: string | undefined;
}

export interface SayOptions {
  onPiece: (piece: Piece) => void;
  /** Stops the answer: the request is closed, and the agent stops its work. */
  signal: AbortSignal;
}

export interface Answer extends Exchanged {
  tools: { tool: string; label: string }[];
  seconds: number;
}

/** A conversation with one agent. Nothing is sent before `say`. */
export class Talk {
  readonly agent: Agent;
  #id: string;
  #opening: Promise<VerifiedApi> | undefined;

  constructor(
    private readonly session: Session,
    ref: string,
    private readonly options: TalkOptions,
  ) {
    this.agent = findAgent(session.hosts.read(), ref);
    // The agent's answers are shown, and it knows more secrets than its own key.
    hideSecrets(session);
    this.#id = idFor(session, this.agent, options.which);
  }

  /** The agent may change it. */
  get id(): string {
    return this.#id;
  }

  connected(): Promise<VerifiedApi> {
    if (this.#opening) return this.#opening;
    const opening = this.#connect();
    this.#opening = opening;
    setImmediate(warmUp);
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async ready(): Promise<void> {
    await (await this.connected()).api.check();
  }

  /** Throws, before anything is sent, when the agent would not read all of a message. */
  async mustFit(message: string): Promise<void> {
    const { max_length: maxLength } = chatSettings(await this.#manifest());
    mustFit(message, maxLength);
    const { system } = this.options;
    if (system !== undefined) mustFit(system, maxLength, "the text of --system");
  }

  async say(message: string, options: SayOptions): Promise<Answer> {
    try {
      return await this.#answer(message, options);
    } catch (error) {
      // The agent's port or key may have changed.
      if (!options.signal.aborted) this.#opening = undefined;
      if (isFault(error, "connection-lost")) {
        error.next.push(`clm chat ${this.agent.ref} --session ${quote(this.#id)}`);
      }
      throw error;
    }
  }

  reset(): void {
    this.#id = newSessionId(this.session.now());
  }

  async #manifest() {
    return (await loadType(this.session.configDir, this.agent.record.type)).manifest;
  }

  async #connect(): Promise<VerifiedApi> {
    // At the same time: loading the manifest takes about as long as connecting.
    const mustChat = this.#manifest().then((manifest) => capability(manifest, "chat"));
    const [api] = await Promise.all([verifyPortOwner(this.session, this.agent), mustChat]);
    return api;
  }

  async #openApi(signal: AbortSignal): Promise<VerifiedApi> {
    try {
      const { connection } = await waitFor(this.connected(), { signal });
      if (!connection.open) this.#opening = undefined;
      return await waitFor(this.connected(), { signal });
    } catch (error) {
      // Also when stopped: the next message does not wait for a silent host.
      this.#opening = undefined;
      throw error;
    }
  }

  async #answer(text: string, { onPiece, signal }: SayOptions): Promise<Answer> {
    const start = Date.now();
    const { session, agent } = this;
    const api = await this.#openApi(signal);
    const tools: Answer["tools"] = [];
    let isAccepted = false;
    try {
      const answer = await exchange(session, api, {
        session: this.#id,
        text,
        system: this.options.system,
        signal: AbortSignal.any([session.signal, signal]),
        onPiece(piece) {
          if ("tool" in piece && piece.status === "running") tools.push({ tool: piece.tool, label: piece.label });
          onPiece(piece);
        },
        accepted: (id) => {
          isAccepted = true;
          // The agent continues under another id when it has compressed a long conversation.
          if (id && isSessionId(id)) this.#id = id;
          return this.#id;
        },
      });
      return { ...answer, tools, seconds: (Date.now() - start) / 1000 };
    } finally {
      if (isAccepted)
        await keepLast(session, (chats) => chats.set(agent.host.name, agent.name, this.#id, session.now()));
    }
  }
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
