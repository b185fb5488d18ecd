import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { agentsIn } from "./agents.js";
import { clm, type Result } from "./clm.js";

export interface Event {
  event: string;
  url: string;
  host?: string;
}

/** A command that prints events as lines of JSON until it is stopped. */
export class Running<Told extends { event: string }> {
  readonly events: Told[] = [];
  over: Result | undefined;
  readonly result: Promise<Result>;
  #child: ChildProcess | undefined;

  constructor(home: string, words: string[], input?: string) {
    let told = "";
    this.result = clm([...words, "-o", "json"], {
      home,
      ...(input !== undefined && { input }),
      during: (child) => {
        this.#child = child;
        child.stdout?.on("data", (chunk) => {
          const lines = (told + chunk).split("\n");
          told = lines.pop() ?? "";
          this.events.push(...lines.map((line) => JSON.parse(line)));
        });
      },
    });
    void this.result.then((over) => {
      this.over = over;
    });
  }

  async until(name: string, from = 0): Promise<Told> {
    for (;;) {
      const found = this.events.slice(from).find(({ event }) => event === name);
      if (found) return found;
      if (this.over) throw new Error(`ended with ${this.over.code} before '${name}':\n${this.over.stderr}`);
      await sleep(50);
    }
  }

  stop(signal: NodeJS.Signals = "SIGINT"): Promise<Result> {
    this.#child?.kill(signal);
    return this.result;
  }
}

/** A gateway that runs until it is stopped. */
export class Serving extends Running<Event> {
  constructor(home: string, ...words: string[]) {
    super(home, ["gateway", "serve", "--port", "0", ...words]);
  }
}

/** Creates a gateway key and returns it. */
export async function newKey(home: string, ...words: string[]): Promise<string> {
  const { stdout } = await agentsIn(home).must("gateway", "key", "create", ...words);
  return /clm_[a-z0-9]{8}_[\w-]{43}/.exec(stdout)?.[0] ?? "";
}
