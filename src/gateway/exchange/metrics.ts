import type { CallOutcome, GatewayCall } from "../request/gateway-call.js";

/** What a caller may see: some targets, and the name of one key; all other keys are counted as one. */
export interface View {
  key: string;
  target(target: string): boolean;
}

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Seconds. Agents take from a few milliseconds to refuse a request to minutes to answer it. */
const steps = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Labels are known agents and keys, never what a caller typed. Keys come and go: labels beyond a limit are `other`. */
export class Metrics {
  readonly #requests = counted("clm_gateway_requests_total", "Requests that have ended.", ["target", "key", "status"]);
  readonly #refusals = counted("clm_gateway_refusals_total", "Requests that ended with an error, by code.", ["code"]);
  readonly #tokens = counted("clm_gateway_tokens_total", "Tokens used.", ["target", "key", "direction"]);
  readonly #usd = counted("clm_gateway_usd_total", "US dollars spent, by known prices.", ["target", "key"]);
  readonly #took = timed("clm_gateway_request_seconds", "Seconds to the last byte of an answer.");
  readonly #first = timed("clm_gateway_first_byte_seconds", "Seconds to its first byte.");
  #inFlight = 0;

  /** `pools` counts the open connections to each host. */
  constructor(private readonly sources: { pools?: () => Iterable<readonly [host: string, open: number]> } = {}) {}

  began(): void {
    this.#inFlight++;
  }

  ended({ key, target = none }: GatewayCall, { status, code, tokens, usd, took, first }: CallOutcome): void {
    this.#inFlight--;
    const name = key?.name ?? none;
    this.#requests.add([target, name, String(status)], 1);
    if (code !== undefined) this.#refusals.add([wellFormed(code)], 1);
    if (tokens) {
      this.#tokens.add([target, name, "input"], tokens.input);
      this.#tokens.add([target, name, "output"], tokens.output);
    }
    if (usd !== undefined) this.#usd.add([target, name], usd);
    this.#took.add(target, took / 1000);
    if (first !== undefined) this.#first.add(target, first / 1000);
  }

  /** All counters, or those that a view allows, in the Prometheus text format 0.0.4. */
  render(view?: View): string {
    const hosts = new Set(this.#requests.targets(view).map((target) => target.split("/")[0]));
    const open = [...(this.sources.pools?.() ?? [])]
      .filter(([host]) => !view || hosts.has(host))
      .map(([host, count]): Sample => [{ host }, count]);
    return [
      this.#requests.text(view),
      this.#refusals.text(view),
      this.#tokens.text(view),
      this.#usd.text(view),
      gauge("clm_gateway_in_flight", "Requests that have not ended.", [[{}, this.#inFlight]]),
      this.#took.text(view),
      this.#first.text(view),
      gauge("clm_gateway_roads_open", "Open connections to a host.", open),
      gauge("process_start_time_seconds", "Start of the process, since 1970.", [[{}, startedAt]]),
      gauge("process_resident_memory_bytes", "Memory in use.", [[{}, process.memoryUsage.rss()]]),
    ].join("");
  }
}

const none = "none";
const startedAt = Math.round(performance.timeOrigin) / 1000;

// An agent's own code may be any text.
const wellFormed = (code: string): string => (/^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : "other");

/** The suffix is `_bucket`, `_sum` or `_count` in a histogram. */
type Sample = [labels: Record<string, string>, value: number, suffix?: string];

const family = (name: string, type: string, help: string, samples: readonly Sample[]): string =>
  [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples.map((each) => line(name, each)), ""].join("\n");

const gauge = (name: string, help: string, samples: readonly Sample[]): string => family(name, "gauge", help, samples);

function line(name: string, [labels, value, suffix = ""]: Sample): string {
  const inside = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${suffix}${inside.length > 0 ? `{${inside.join(",")}}` : ""} ${value}`;
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** Different labels that one metric keeps. */
const most = 2000;

/** A value for each combination of labels; `other` when there are too many. */
function kept<Kept>(labels: readonly string[], make: () => Kept) {
  const all = new Map<string, { values: readonly string[]; kept: Kept }>();
  const find = (values: readonly string[]): Kept => {
    const id = values.join("\0");
    const known = all.get(id);
    if (known) return known.kept;
    if (all.size >= most && values.some((value) => value !== "other")) return find(values.map(() => "other"));
    const fresh = { values, kept: make() };
    all.set(id, fresh);
    return fresh.kept;
  };
  const labelled = (values: readonly string[]): Record<string, string> =>
    Object.fromEntries(labels.map((label, index) => [label, values[index] ?? none]));
  const list = (view?: View) =>
    [...all.values()]
      .map(({ values, kept }) => ({ labels: labelled(values), kept }))
      .filter(({ labels: { target } }) => !view || target === undefined || target === none || view.target(target));
  return { find, list };
}

function withoutKeys(labels: Record<string, string>, view: View | undefined): Record<string, string> {
  const { key } = labels;
  if (!view || key === undefined || key === none || key === view.key) return labels;
  return { ...labels, key: "others" };
}

function counted(name: string, help: string, labels: readonly string[]) {
  const { find, list } = kept(labels, () => ({ sum: 0 }));
  return {
    add(values: readonly string[], amount: number) {
      find(values).sum += amount;
    },
    targets: (view?: View): string[] => list(view).flatMap(({ labels: { target } }) => target ?? []),
    text(view?: View): string {
      const sums = new Map<string, { labels: Record<string, string>; sum: number }>();
      for (const { labels, kept } of list(view)) {
        const shown = withoutKeys(labels, view);
        const id = Object.values(shown).join("\0");
        sums.set(id, { labels: shown, sum: (sums.get(id)?.sum ?? 0) + kept.sum });
      }
      const samples = [...sums.values()].map(({ labels, sum }): Sample => [labels, sum]);
      return family(name, "counter", help, samples);
    },
  };
}

function timed(name: string, help: string) {
  const { find, list } = kept(["target"], () => ({ counts: new Float64Array(steps.length + 1), sum: 0 }));
  return {
    add(target: string, seconds: number) {
      const found = find([target]);
      const step = steps.findIndex((most) => seconds <= most);
      const at = step < 0 ? steps.length : step;
      found.counts[at] = (found.counts[at] ?? 0) + 1;
      found.sum += seconds;
    },
    text(view?: View): string {
      const samples = list(view).flatMap(({ labels, kept: { counts, sum } }): Sample[] => {
        let total = 0;
        const buckets = [...counts].map((count, index): Sample => {
          total += count;
          return [{ ...labels, le: String(steps[index] ?? "+Inf") }, total, "_bucket"];
        });
        return [...buckets, [labels, sum, "_sum"], [labels, total, "_count"]];
      });
      return family(name, "histogram", help, samples);
    },
  };
}
