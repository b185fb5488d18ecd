import type { Tokens } from "../request/gateway-call.js";

/** Tokens of a model's window, when it is unknown. */
export const defaultWindow = 200_000;
/** Model calls of one request: an agent calls its model until it needs no more tools, and stops by itself before this. */
const mostModelCalls = 100;

export interface ClaimLimits {
  /** Tokens of the model's window. */
  window?: number | undefined;
  /** Milliseconds that the agent worked. */
  took: number;
}

/** Caps what an agent reports: a call takes at most the window, about one a second. The report is kept as `claimed`. */
export function believable(tokens: Tokens, { window = defaultWindow, took }: ClaimLimits): Tokens {
  const most = Math.floor(window * Math.min(mostModelCalls, 1 + Math.max(0, took) / 1000));
  const { input, output } = tokens;
  if (input <= most && output <= most) return tokens;
  return { ...tokens, input: Math.min(input, most), output: Math.min(output, most), claimed: { input, output } };
}
