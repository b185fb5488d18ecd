/** Billionths of a dollar as a person reads them; small sums do not become nothing. */
export function dollars(nano: number): string {
  const usd = nano / 1e9;
  return `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}
