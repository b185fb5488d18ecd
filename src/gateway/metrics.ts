import type { CallOutcome, GatewayCall } from "./gateway-call.js";

export interface Metrics {
  began(call: GatewayCall): void;
  ended(call: GatewayCall, ending: CallOutcome): void;
  /** What was counted so far, as Prometheus reads it (text format 0.0.4): all of it, or what somebody may see. */
  render(view?: View): string;
}

/** What somebody may see: some targets, and the name of one key; other keys are one. */
export interface View {
  key: string;
  target(target: string): boolean;
}

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

export interface MetricsSources {
  /** How many connections are open to each host. */
  pools?: () => Iterable<readonly [host: string, open: number]>;
}

/** Seconds. Agents take from a few milliseconds to say no to minutes to think. */
const steps = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * What the gateway counts. A label holds only what is known here: the agent and the key that a call was found to mean, never what
 * somebody typed. Keys come and go, so each metric has room for so many different ones, and what is more is counted as `other`.
 */
export function createMetrics({ pools = () => [] }: MetricsSources = {}): Metrics {
  const requests = counted(["target", "key", "status"]);
  const refusals = counted(["code"]);
  const tokens = counted(["target", "key", "direction"]);
  const usd = counted(["target", "key"]);
  const took = timed();
  const first = timed();
  let inFlight = 0;

  return {
    began() {
      inFlight++;
    },
    ended({ key, target = none }, { status, code, tokens: used, usd: cost, took: ms, first: firstMs }) {
      inFlight--;
      const name = key?.name ?? none;
      requests.add([target, name, String(status)], 1);
      if (code !== undefined) refusals.add([wellFormed(code)], 1);
      if (used) {
        tokens.add([target, name, "input"], used.input);
        tokens.add([target, name, "output"], used.output);
      }
      if (cost !== undefined) usd.add([target, name], cost);
      took.add(target, ms / 1000);
      if (firstMs !== undefined) first.add(target, firstMs / 1000);
    },
    render(view) {
      const hosts = new Set(requests.targets(view).map((target) => target.split("/")[0]));
      const open = [...pools()]
        .filter(([host]) => !view || hosts.has(host))
        .map(([host, count]) => sample({ host }, count));
      const families: [name: string, type: string, help: string, lines: Line[]][] = [
        ["clm_gateway_requests_total", "counter", "Requests that have ended.", requests.lines(view)],
        ["clm_gateway_refusals_total", "counter", "Requests that ended with an error, by its code.", refusals.lines()],
        ["clm_gateway_tokens_total", "counter", "Tokens used.", tokens.lines(view)],
        ["clm_gateway_usd_total", "counter", "US dollars spent, by the prices that are known.", usd.lines(view)],
        ["clm_gateway_in_flight", "gauge", "Requests that have not ended.", [sample({}, inFlight)]],
        ["clm_gateway_request_seconds", "histogram", "Seconds until an answer's last byte.", took.lines(view)],
        ["clm_gateway_first_byte_seconds", "histogram", "Seconds until an answer's first byte.", first.lines(view)],
        ["clm_gateway_roads_open", "gauge", "Connections that are open to a host.", open],
        ["process_start_time_seconds", "gauge", "When the process began, since 1970.", [sample({}, startedAt)]],
        ["process_resident_memory_bytes", "gauge", "Memory in use.", [sample({}, process.memoryUsage.rss())]],
      ];
      return families
        .map(([name, type, help, lines]) =>
          [
            `# HELP ${name} ${help}`,
            `# TYPE ${name} ${type}`,
            ...lines.map(({ suffix, text }) => `${name}${suffix}${text}`),
            "",
          ].join("\n"),
        )
        .join("");
    },
  };
}

const none = "none";
const startedAt = Math.round(performance.timeOrigin) / 1000;

// A code of an agent's own is its word, not ours.
const wellFormed = (code: string): string => (/^[a-z][a-z0-9_]{0,63}$/.test(code) ? code : "other");

interface Line {
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  suffix: string;
  text: string;
}

const sample = (labels: Record<string, string>, value: number, suffix = ""): Line => {
  const inside = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return { suffix, text: `${inside.length > 0 ? `{${inside.join(",")}}` : ""} ${value}` };
};

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** Different labels that a metric has room for. */
const most = 2000;

/** What is kept for labels; `other` when there is no room for more of them. */
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
  const list = (view?: View) => [...all.values()].map(labelled).filter(({ labels }) => isSeen(labels.target, view));
  const labelled = ({ values, kept }: { values: readonly string[]; kept: Kept }) => ({
    labels: Object.fromEntries(labels.map((label, index) => [label, values[index] ?? none])) as Record<string, string>,
    kept,
  });
  return { find, list };
}

/** What has no target is of nobody in particular. */
const isSeen = (target: string | undefined, view: View | undefined): boolean =>
  !view || target === undefined || target === none || view.target(target);

function withoutKeys(labels: Record<string, string>, view: View | undefined): Record<string, string> {
  const { key } = labels;
  if (!view || key === undefined || key === none || key === view.key) return labels;
  return { ...labels, key: "others" };
}

function counted(labels: readonly string[]) {
  const { find, list } = kept(labels, () => ({ sum: 0 }));
  return {
    add(values: readonly string[], amount: number) {
      find(values).sum += amount;
    },
    targets: (view?: View): string[] => list(view).flatMap(({ labels: { target } }) => target ?? []),
    lines(view?: View): Line[] {
      const sums = new Map<string, { labels: Record<string, string>; sum: number }>();
      for (const { labels, kept } of list(view)) {
        const shown = withoutKeys(labels, view);
        const id = Object.values(shown).join("\0");
        sums.set(id, { labels: shown, sum: (sums.get(id)?.sum ?? 0) + kept.sum });
      }
      return [...sums.values()].map(({ labels, sum }) => sample(labels, sum));
    },
  };
}

function timed() {
  const { find, list } = kept(["target"], () => ({ counts: new Float64Array(steps.length + 1), sum: 0 }));
  return {
    add(target: string, seconds: number) {
      const found = find([target]);
      const step = steps.findIndex((most) => seconds <= most);
      const at = step < 0 ? steps.length : step;
      found.counts[at] = (found.counts[at] ?? 0) + 1;
      found.sum += seconds;
    },
    lines: (view?: View): Line[] =>
      list(view).flatMap(({ labels, kept: { counts, sum } }) => {
        let total = 0;
        const buckets = [...counts].map((count, index) => {
          total += count;
          return sample({ ...labels, le: String(steps[index] ?? "+Inf") }, total, "_bucket");
        });
        return [...buckets, sample(labels, sum, "_sum"), sample(labels, total, "_count")];
      }),
  };
}
