import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { openSubdirectory } from "../../state/config-dir.js";
import { cannotWrite } from "../../state/disk-fault.js";
import { Refusal, unauthorized } from "../request/refusal.js";
import { NonceFile } from "./nonce-file.js";
import { unixSeconds, window } from "./sign.js";

/** The nonces of all requests that were signed within the same `window` seconds; they are forgotten together. */
interface Generation {
  used: Set<string>;
  /** Opened with the first nonce. */
  file?: NonceFile;
}

interface PendingNonce {
  generation: number;
  line: string;
  done: () => void;
  failed: (refusal: Refusal) => void;
}

/** Some hundred megabytes at worst; a thousand signed requests a second for as long as they must be remembered. */
const defaultMax = 1_000_000;
const generationOf = (stamp: number): number => Math.floor(stamp / window);
const firstAfter = (generation: number): number => (generation + 1) * window;
/** All its stamps are too old to be accepted. */
const isOver = (generation: number, now: number): boolean => now - window >= firstAfter(generation);

/**
 * Used nonces, as far back as a signature may reach: `nonces/` in the gateway's folder, with a file for each generation, named by its
 * number, and a line for each nonce. The last generation that was forgotten stays as an empty `<number>.over`: if the clock is set
 * back, requests signed until then could be replays.
 */
export class Nonces {
  readonly #generations = new Map<number, Generation>();
  readonly #forgotten: [number: number, generation: Generation][] = [];
  #waiting: PendingNonce[] = [];
  #writing: Promise<void> | undefined;
  #closed = false;
  /** Requests that were signed before this second cannot be told from replays. */
  #unknownBefore = 0;

  static async open(dir: string, now: () => Date, max = defaultMax): Promise<Nonces> {
    const folder = openSubdirectory(dir, "nonces");
    const nonces = new Nonces(folder, () => unixSeconds(now()), max);
    try {
      await nonces.#load();
    } catch (error) {
      throw cannotWrite(folder, folder, error);
    }
    return nonces;
  }

  private constructor(
    private readonly folder: string,
    private readonly seconds: () => number,
    private readonly max: number,
  ) {}

  /**
   * Uses up a nonce of a key, for a request that was signed at that second. Resolves when it is on the disk. Refusal 401
   * request_replayed when it was used before, 503 nonces_unavailable when that is not known.
   */
  async use(keyId: string, nonce: string, stamp: number): Promise<void> {
    if (this.#closed) throw unavailable("The gateway is being stopped.");
    this.#forgetOld();
    if (stamp < this.#unknownBefore) throw unknown(this.#unknownBefore, this.seconds());
    const entry = `${keyId} ${nonce}`;
    const all = [...this.#generations.values()];
    if (all.some(({ used }) => used.has(entry))) throw replayed();
    if (all.reduce((sum, { used }) => sum + used.size, 0) >= this.max) throw tooMany();
    const generation = generationOf(stamp);
    // Before anything is awaited, so that of two at the same moment one is a replay.
    this.#generation(generation).used.add(entry);
    await new Promise<void>((done, failed) => {
      this.#waiting.push({ generation, line: `${entry} ${stamp}\n`, done, failed });
      this.#writing ??= this.#writeWaiting();
    });
  }

  /** Resolves when all used nonces are on the disk. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#writing;
    const all = [...this.#forgotten.map(([, generation]) => generation), ...this.#generations.values()];
    for (const { file } of all) await file?.close();
  }

  #path(generation: number): string {
    return join(this.folder, String(generation));
  }

  #generation(number: number): Generation {
    const generation = this.#generations.get(number) ?? { used: new Set() };
    this.#generations.set(number, generation);
    return generation;
  }

  #doubt(generation: number): void {
    this.#unknownBefore = Math.max(this.#unknownBefore, firstAfter(generation));
  }

  #openFile(generation: number, { used }: Generation): Promise<NonceFile> {
    return NonceFile.open(this.#path(generation), (line) => {
      const [, entry] = /^([a-z0-9]+ [A-Za-z0-9_-]+) \d+$/.exec(line) ?? [];
      // A damaged line may have been any nonce of its generation.
      if (entry === undefined) this.#doubt(generation);
      else used.add(entry);
    });
  }

  async #load(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const [, number, over] = /^(\d{1,12})(\.over)?$/.exec(name) ?? [];
      if (number === undefined) continue;
      const generation = Number(number);
      if (over) this.#doubt(generation);
      else if (isOver(generation, this.seconds())) await this.#forgetFile(generation, undefined);
      else {
        const loaded = this.#generation(generation);
        loaded.file = await this.#openFile(generation, loaded);
      }
    }
  }

  async #forgetFile(generation: number, file: NonceFile | undefined): Promise<void> {
    this.#doubt(generation);
    await file?.empty();
    await file?.close();
    await rename(this.#path(generation), `${this.#path(generation)}.over`);
    for (const name of await readdir(this.folder)) {
      if (/^\d+\.over$/.test(name) && Number.parseInt(name, 10) < generation) await rm(join(this.folder, name));
    }
  }

  /** Frees their memory at once; their files are removed after the next write. */
  #forgetOld(): void {
    for (const [number, generation] of this.#generations) {
      if (!isOver(number, this.seconds())) continue;
      this.#generations.delete(number);
      this.#doubt(number);
      this.#forgotten.push([number, generation]);
    }
  }

  /** Nonces that come while a group is being written are written together. */
  async #writeWaiting(): Promise<void> {
    // All of this turn of the loop belong to the first group.
    await new Promise((turn) => setImmediate(turn));
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#writeGroup(group);
        for (const { done } of group) done();
      } catch (error) {
        for (const { failed } of group) failed(notWritten(error));
      }
      // A file that cannot be removed now is removed at the next start.
      for (const [number, { file }] of this.#forgotten.splice(0)) {
        if (file) await this.#forgetFile(number, file).catch(() => {});
      }
    }
    this.#writing = undefined;
  }

  async #writeGroup(group: PendingNonce[]): Promise<void> {
    for (const number of new Set(group.map(({ generation }) => generation))) {
      const generation = this.#generation(number);
      generation.file ??= await this.#openFile(number, generation);
      const lines = group.filter((each) => each.generation === number).map(({ line }) => line);
      await generation.file.append(lines.join(""));
    }
  }
}

const replayed = (): Refusal =>
  unauthorized("request_replayed", "The nonce of this request was used before. Sign each request with a new one.");

const unavailable = (why: string, retryAfter?: number, cause?: unknown): Refusal =>
  new Refusal(503, "nonces_unavailable", why, { retryAfter, cause });

const notWritten = (cause: unknown): Refusal =>
  unavailable("The gateway cannot record used nonces, so it accepts no signed requests.", 1, cause);

const tooMany = (): Refusal =>
  unavailable("The gateway remembers as many nonces as it can hold; older ones are forgotten soon.", 60);

const unknown = (before: number, now: number): Refusal =>
  unavailable(
    `The gateway does not know whether a request signed before ${new Date(before * 1000).toISOString()} is a replay: ` +
      "its clock was set back, or its record of nonces is damaged.",
    Math.max(1, before - now),
  );
