import { Fault } from "../../errors.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Providers } from "../../state/providers.js";

/** A provider that an agent has and that was forgotten, and what it was for. */
export interface Gone {
  provider: string;
  /** Completes "as …": `its provider`, `a fallback`, `auxiliary vision`. */
  as: string;
  /** What does without it. */
  flag: string;
}

type Named = Pick<AgentRecord, "provider" | "fallbacks" | "auxiliary">;

/** What an agent has of providers that are no more: `clm provider remove --force` leaves it so. */
export function goneProviders({ provider, fallbacks = [], auxiliary = {} }: Named, { providers }: Providers): Gone[] {
  const all: Gone[] = [
    ...(provider === undefined ? [] : [{ provider, as: "its provider", flag: "--provider NAME" }]),
    ...fallbacks.map((each) => ({ provider: each.provider, as: "a fallback", flag: "--fallback none" })),
    ...Object.entries(auxiliary).map(([task, each]) => ({
      provider: each.provider,
      as: `auxiliary ${task}`,
      flag: `--auxiliary ${task}=none`,
    })),
  ];
  return all.filter((each) => !Object.hasOwn(providers, each.provider));
}

/** All of it together: one command mends it. */
export function goneFault({ name, ref }: { name: string; ref: string }, gone: Gone[]): Fault {
  const [first] = gone;
  const flags = [...new Set(gone.map(({ flag }) => flag))];
  const what = gone.map(({ provider, as }) => `${provider} as ${as}`);
  return new Fault("not-found", `${name} has ${what.join(", ")}, which ${what.length > 1 ? "are" : "is"} gone`, {
    why: "clm has no provider of that name any more; nothing was changed",
    next: [`clm agent configure ${ref} ${flags.join(" ")}`, "clm provider list"],
    data: { providers: [...new Set(gone.map(({ provider }) => provider))], flag: first?.flag.split(" ")[0] },
  });
}
