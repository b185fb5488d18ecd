/** Billionths of a dollar as dollars; small sums keep two digits. */
export function dollars(nano: number): string {
  const usd = nano / 1e9;
  return `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}
