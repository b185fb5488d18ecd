import type { ModelFacts } from "../../agents/manifest/models.js";

/** Billionths of a dollar per token. */
export interface Price {
  input: number;
  output: number;
}

export function priceOf({ input, output }: ModelFacts = {}): Price | undefined {
  return input === undefined || output === undefined ? undefined : { input: input * 1000, output: output * 1000 };
}

export const isFree = (price: Price | undefined): boolean => price?.input === 0 && price.output === 0;

export const costOf = (
  price: Price | undefined,
  { input, output }: { input: number; output: number },
): number | undefined => price && Math.round(input * price.input + output * price.output);
