import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { openSubdirectory } from "../../state/config-dir.js";
import { cannotWrite } from "../../state/disk-fault.js";
import { Refusal } from "../refusal.js";
import { type NonceFile, openNonceFile } from "./nonce-file.js";
import { unixSeconds, window } from "./sign.js";

/** Which nonces were used, as far back as a signature may reach. */
export interface Nonces {
  /**
   * Uses up a nonce of a key, for a request that was signed at that second. Resolves when it is on the disk: then it holds
   * whatever happens. Refusal 401 request_replayed when it was used before, 503 nonces_unavailable when nobody can tell.
   */
  use(keyId: string, nonce: string, stamp: number): Promise<void>;
  /** Resolves when all that were used are on the disk. */
  close(): Promise<void>;
}

/** The nonces of all requests that were signed within the same `window` seconds, which are forgotten together. */
interface Generation {
  used: Set<string>;
  /** Opened with the first nonce. */
  file?: NonceFile;
}

interface Waiting {
  generation: number;
  line: string;
  done: () => void;
  failed: (refusal: Refusal) => void;
}

/** Some hundred megabytes at worst; a thousand signed requests a second for as long as they must be remembered. */
const mostRemembered = 1_000_000;

const generationOf = (stamp: number): number => Math.floor(stamp / window);
const firstAfter = (generation: number): number => (generation + 1) * window;
/** No stamp of it is recent any more. */
const isOver = (generation: number, now: number): boolean => now - window >= firstAfter(generation);

/**
 * `nonces/` in the gateway's folder: a file for each generation, named by its number, a line for each nonce. The last one
 * that was forgotten stays as an empty `<number>.over`: should the clock be set back, what was signed until then could be
 * here for the second time.
 */
export async function openNonces(dir: string, now: () => Date, most = mostRemembered): Promise<Nonces> {
  const folder = openSubdirectory(dir, "nonces");
  const seconds = () => unixSeconds(now());
  const generations = new Map<number, Generation>();
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  const forgotten: [number: number, generation: Generation][] = [];
  let closed = false;
  /** What was signed before this second can no longer be told from what is repeated. */
  let unknownBefore = 0;

  const doubt = (generation: number) => {
    unknownBefore = Math.max(unknownBefore, firstAfter(generation));
  };
  const pathOf = (generation: number) => join(folder, String(generation));

  async function open(generation: number, { used }: Generation): Promise<NonceFile> {
    return openNonceFile(pathOf(generation), (line) => {
      const [, entry] = /^([a-z0-9]+ [A-Za-z0-9_-]+) \d+$/.exec(line) ?? [];
      // Whose line this was nobody knows: any of its time may have been used.
      if (entry === undefined) doubt(generation);
      else used.add(entry);
    });
  }

  async function load(): Promise<void> {
    for (const name of await readdir(folder)) {
      const [, number, over] = /^(\d{1,12})(\.over)?$/.exec(name) ?? [];
      if (number === undefined) continue;
      const generation = Number(number);
      if (over) doubt(generation);
      else if (isOver(generation, seconds())) await forgetFile(generation, undefined);
      else {
        const loaded: Generation = { used: new Set() };
        loaded.file = await open(generation, loaded);
        generations.set(generation, loaded);
      }
    }
  }

  async function forgetFile(generation: number, file: NonceFile | undefined): Promise<void> {
    doubt(generation);
    await file?.empty();
    await file?.close();
    await rename(pathOf(generation), `${pathOf(generation)}.over`);
    for (const name of await readdir(folder)) {
      if (/^\d+\.over$/.test(name) && Number.parseInt(name, 10) < generation) await rm(join(folder, name));
    }
  }

  /** At once, so that there is room; their files go when it is their turn. */
  function forgetOld(): void {
    for (const [number, generation] of generations) {
      if (!isOver(number, seconds())) continue;
      generations.delete(number);
      doubt(number);
      forgotten.push([number, generation]);
    }
  }

  /** What came while the last group was on its way to the disk goes there together. */
  async function writeWaiting(): Promise<void> {
    // Whoever asks in this turn of the loop is part of the first.
    await new Promise((turn) => setImmediate(turn));
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        await writeGroup(group);
        for (const { done } of group) done();
      } catch (error) {
        for (const { failed } of group) failed(notWritten(error));
      }
      // What cannot be taken away now is taken away at the next start.
      for (const [number, { file }] of forgotten.splice(0)) {
        if (file) await forgetFile(number, file).catch(() => {});
      }
    }
    writing = undefined;
  }

  async function writeGroup(group: Waiting[]): Promise<void> {
    for (const number of new Set(group.map(({ generation }) => generation))) {
      const generation = remembered(number);
      generation.file ??= await open(number, generation);
      const lines = group.filter((each) => each.generation === number).map(({ line }) => line);
      await generation.file.append(lines.join(""));
    }
  }

  function remembered(number: number): Generation {
    const generation = generations.get(number) ?? { used: new Set() };
    generations.set(number, generation);
    return generation;
  }

  try {
    await load();
  } catch (error) {
    throw cannotWrite(folder, folder, error);
  }

  return {
    async use(keyId, nonce, stamp) {
      if (closed) throw unavailable("The gateway is about to end.");
      forgetOld();
      if (stamp < unknownBefore) throw unknown(unknownBefore, seconds());
      const entry = `${keyId} ${nonce}`;
      const all = [...generations.values()];
      if (all.some(({ used }) => used.has(entry))) throw replayed();
      if (all.reduce((sum, { used }) => sum + used.size, 0) >= most) throw tooMany();
      const generation = generationOf(stamp);
      // At once, so that of two at the same moment one comes too late.
      remembered(generation).used.add(entry);
      await new Promise<void>((done, failed) => {
        waiting.push({ generation, line: `${entry} ${stamp}\n`, done, failed });
        writing ??= writeWaiting();
      });
    },
    async close() {
      closed = true;
      await writing;
      const all = [...forgotten.map(([, generation]) => generation), ...generations.values()];
      for (const { file } of all) await file?.close();
    },
  };
}

const replayed = (): Refusal =>
  new Refusal(
    401,
    "request_replayed",
    "This request was here before: its nonce has been used. Sign each request anew.",
  );

const unavailable = (why: string, retryAfter?: number, cause?: unknown): Refusal =>
  new Refusal(503, "nonces_unavailable", why, { ...(retryAfter !== undefined && { retryAfter }), cause });

const notWritten = (cause: unknown): Refusal =>
  unavailable("The gateway cannot write down which requests were here, so it takes no signed ones.", 1, cause);

const tooMany = (): Refusal =>
  unavailable("The gateway remembers as many signed requests as it can hold; older ones are forgotten soon.", 60);

const unknown = (before: number, now: number): Refusal =>
  unavailable(
    `Whether a request signed before ${new Date(before * 1000).toISOString()} was here already is not known any more: ` +
      "the gateway's clock was set back, or its record of them is damaged.",
    Math.max(1, before - now),
  );
