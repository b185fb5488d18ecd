import { expect, test } from "vitest";
import { Metrics } from "../../../../src/gateway/exchange/metrics.js";
import { call, ending, key } from "../audit/calls.js";

interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** Reads the text as Prometheus does, and takes nothing that it would not take. */
function parsed(text: string) {
  expect(text.endsWith("\n")).toBe(true);
  const types = new Map<string, string>();
  const samples = new Map<string, Sample[]>();
  const seen = new Set<string>();
  let family = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) \S.*$/.exec(line);
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line);
    if (help) {
      family = help[1] ?? "";
      expect(types.has(family)).toBe(false);
    } else if (type) {
      expect(type[1]).toBe(family);
      types.set(family, type[2] ?? "");
    } else {
      const [, name = "", , inside = "", value = ""] =
        /^([a-zA-Z_:][\w:]*)(\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"(?:,(?=[a-zA-Z_]))?)+)\})? (-?[\d.e+-]+)$/.exec(
          line,
        ) ?? [];
      expect([line, name.replace(types.get(family) === "histogram" ? /_(bucket|sum|count)$/ : "", "")]).toEqual([
        line,
        family,
      ]);
      const pairs = [...inside.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, label = "", quoted = ""]) => [
        label,
        quoted.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c)),
      ]);
      const found = { labels: Object.fromEntries(pairs), value: Number(value) };
      expect(found.value).not.toBeNaN();
      const id = `${name} ${JSON.stringify(found.labels)}`;
      expect(seen.has(id)).toBe(false);
      seen.add(id);
      samples.set(name, samples.get(name) ?? []);
      samples.get(name)?.push(found);
    }
  }
  return { types, of: (name: string) => samples.get(name) ?? [] };
}

test("requests, refusals, tokens and money are counted by agent and key", () => {
  const metrics = new Metrics();
  for (let n = 0; n < 3; n++) metrics.began();
  metrics.ended(call(1), ending());
  metrics.ended(call(2), ending({ status: 429, code: "rate_limit_exceeded" }));
  const { of, types } = parsed(metrics.render());
  const who = { target: "wolf-i/ada", key: "codex" };
  expect(of("clm_gateway_requests_total")).toEqual([
    { labels: { ...who, status: "200" }, value: 1 },
    { labels: { ...who, status: "429" }, value: 1 },
  ]);
  expect(of("clm_gateway_refusals_total")).toEqual([{ labels: { code: "rate_limit_exceeded" }, value: 1 }]);
  expect(of("clm_gateway_tokens_total")).toEqual([
    { labels: { ...who, direction: "input" }, value: 24 },
    { labels: { ...who, direction: "output" }, value: 60 },
  ]);
  expect(of("clm_gateway_usd_total")).toEqual([{ labels: who, value: 0.004 }]);
  expect(of("clm_gateway_in_flight")).toEqual([{ labels: {}, value: 1 }]);
  expect(Object.fromEntries(types)).toMatchObject({
    clm_gateway_requests_total: "counter",
    clm_gateway_in_flight: "gauge",
    clm_gateway_request_seconds: "histogram",
    clm_gateway_first_byte_seconds: "histogram",
    process_start_time_seconds: "gauge",
    process_resident_memory_bytes: "gauge",
  });
  expect(of("process_resident_memory_bytes")[0]?.value).toBeGreaterThan(1e6);
  const [started] = of("process_start_time_seconds");
  expect(Math.abs((started?.value ?? 0) * 1000 - performance.timeOrigin)).toBeLessThan(2);
});

test("a histogram's steps grow up to the count of all", () => {
  const metrics = new Metrics();
  for (const took of [1, 5, 30, 700, 1_000_000]) metrics.ended(call(1), ending({ took, first: took / 10 }));
  const { of } = parsed(metrics.render());
  const steps = of("clm_gateway_request_seconds_bucket");
  const at = (le: string) => steps.find(({ labels }) => labels.le === le)?.value;
  expect([at("0.005"), at("0.05"), at("0.5"), at("1"), at("600"), at("+Inf")]).toEqual([2, 3, 3, 4, 4, 5]);
  expect(steps.map(({ value }) => value)).toEqual(steps.map(({ value }) => value).toSorted((a, b) => a - b));
  expect(of("clm_gateway_request_seconds_count")).toEqual([{ labels: { target: "wolf-i/ada" }, value: 5 }]);
  expect(of("clm_gateway_request_seconds_sum")[0]?.value).toBeCloseTo(1000.736);
  expect(of("clm_gateway_first_byte_seconds_count")[0]?.value).toBe(5);
});

test("nothing that a caller typed is a label", () => {
  const metrics = new Metrics();
  const {
    key: _key,
    target: _target,
    ...unknown
  } = call(1, { model: "sk-planted", path: "/v1/sk-planted", nonce: "sk-planted" });
  metrics.ended(unknown, {
    status: 401,
    code: "invalid_api_key",
    took: 1,
    bodies: { asked: "sk-planted", answered: "" },
  });
  metrics.ended(unknown, { status: 500, code: "sk-Planted of an agent", took: 1 });
  const text = metrics.render();
  expect(text).not.toMatch(/planted/i);
  expect(parsed(text).of("clm_gateway_requests_total")[0]?.labels).toEqual({
    target: "none",
    key: "none",
    status: "401",
  });
  expect(
    parsed(text)
      .of("clm_gateway_refusals_total")
      .map(({ labels }) => labels.code),
  ).toEqual(["invalid_api_key", "other"]);
});

test.each(['a"b', "a\\b", "a\nb", "a\\nb", '"}', "grüße 日本", "\\"])("a key may be called %j", (name) => {
  const metrics = new Metrics({
    pools: () => [
      ["wolf-i", 2],
      [name, 1],
    ],
  });
  metrics.ended(call(1, { key: { ...key, name } }), ending());
  const { of } = parsed(metrics.render());
  expect(of("clm_gateway_usd_total")[0]?.labels).toEqual({ target: "wolf-i/ada", key: name });
  expect(of("clm_gateway_roads_open")).toEqual([
    { labels: { host: "wolf-i" }, value: 2 },
    { labels: { host: name }, value: 1 },
  ]);
});

test("a restricted key sees only its own agents, and no other key's name", () => {
  const metrics = new Metrics({
    pools: () => [
      ["wolf-i", 2],
      ["wolf-j", 3],
    ],
  });
  const by = (name: string, target: string) =>
    metrics.ended(call(1, { target, key: { ...key, name } }), ending({ usd: 1 }));
  for (const name of ["mine", "codex", "aider"]) for (const target of ["wolf-i/ada", "wolf-j/ben"]) by(name, target);
  const { key: _key, target: _target, ...nobodys } = call(2);
  metrics.ended(nobodys, { status: 401, code: "invalid_api_key", took: 1 });

  const view = { key: "mine", target: (target: string) => target.startsWith("wolf-i/") };
  const text = metrics.render(view);
  expect(text).not.toMatch(/codex|aider|wolf-j|ben/);
  const { of } = parsed(text);
  const target = "wolf-i/ada";
  expect(of("clm_gateway_requests_total")).toEqual([
    { labels: { target, key: "mine", status: "200" }, value: 1 },
    { labels: { target, key: "others", status: "200" }, value: 2 },
    { labels: { target: "none", key: "none", status: "401" }, value: 1 },
  ]);
  expect(of("clm_gateway_usd_total")).toEqual([
    { labels: { target, key: "mine" }, value: 1 },
    { labels: { target, key: "others" }, value: 2 },
  ]);
  expect(of("clm_gateway_request_seconds_count").map(({ labels }) => labels.target)).toEqual([target, "none"]);
  expect(of("clm_gateway_roads_open")).toEqual([{ labels: { host: "wolf-i" }, value: 2 }]);
  expect(parsed(metrics.render()).of("clm_gateway_requests_total")).toHaveLength(7);
});

test("however many keys come and go, it stays small and loses no count", () => {
  const metrics = new Metrics();
  for (let n = 0; n < 10_000; n++) metrics.ended(call(1, { key: { ...key, name: `key-${n}` } }), ending({ usd: 1 }));
  const { of } = parsed(metrics.render());
  const spent = of("clm_gateway_usd_total");
  expect(spent.length).toBeLessThan(2100);
  expect(spent.reduce((sum, { value }) => sum + value, 0)).toBe(10_000);
  expect(spent.find(({ labels }) => labels.key === "other")?.value).toBe(8000);
});
