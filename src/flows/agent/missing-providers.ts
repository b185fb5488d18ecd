import { Fault } from "../../errors.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Providers } from "../../state/providers.js";

export interface MissingProvider {
  provider: string;
  /** Completes "as …": `its provider`, `a fallback`, `auxiliary vision`. */
  as: string;
  flag: string;
}

/** `clm provider remove --force` leaves agents with a provider that does not exist. */
export function missingProviders(
  { provider, fallbacks = [], auxiliary = {} }: Pick<AgentRecord, "provider" | "fallbacks" | "auxiliary">,
  { providers }: Providers,
): MissingProvider[] {
  const all: MissingProvider[] = [
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

export const noProvider = ({ name }: { name: string }, what = "no provider has been added yet"): Fault =>
  new Fault("needs-answer", what, {
    why: `${name} needs a model provider`,
    next: "clm provider add --help",
    flag: "--provider",
  });

export function missingProvidersFault({ name, ref }: { name: string; ref: string }, missing: MissingProvider[]): Fault {
  const [first] = missing;
  const flags = [...new Set(missing.map(({ flag }) => flag))];
  const what = missing.map(({ provider, as }) => `${provider} as ${as}`);
  return new Fault("not-found", `${name} has ${what.join(", ")}, which ${what.length > 1 ? "do" : "does"} not exist`, {
    why: "the provider was removed from clm; nothing was changed",
    next: [`clm agent configure ${ref} ${flags.join(" ")}`, "clm provider list"],
    data: { providers: [...new Set(missing.map(({ provider }) => provider))], flag: first?.flag.split(" ")[0] },
  });
}
