import type { Tokens } from "../gateway-call.js";

/** Tokens of a model's window where nobody knows it. */
export const defaultWindow = 200_000;
/** Model calls that one request can come to: an agent goes on with its tools until it is done, and stops by itself before. */
const mostModelCalls = 100;

export interface ClaimLimits {
  /** Tokens of the model's window. */
  window?: number | undefined;
  /** Milliseconds that the agent worked. */
  took: number;
}

/**
 * What an agent says it used, as far as that is possible: no model call takes more than the model's window, and an agent makes
 * about one a second at most. A claim beyond that counts as the most that is possible, and says what was claimed.
 */
export function believable(tokens: Tokens, { window = defaultWindow, took }: ClaimLimits): Tokens {
  const most = window * Math.min(mostModelCalls, 1 + Math.max(0, took) / 1000);
  const { input, output } = tokens;
  if (input <= most && output <= most) return tokens;
  const whole = Math.floor(most);
  return {
    ...tokens,
    input: Math.min(input, whole),
    output: Math.min(output, whole),
    claimed: { input, output },
  };
}
