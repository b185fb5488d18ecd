import { median } from "../measure.mjs";
import { flood, percentile, steady } from "./load.mjs";

// Average milliseconds between an answer and the next request. With sixteen callers that makes about 400 requests a
// second, so every process is idle for most of the time.
const think = 40;

/** Compares the routes `direct`, `gateway`, `floor` and, if available, `nginx`, each with its callers, in turn. */
export async function compared(given, { rounds, seconds, warm }) {
  const ways = given.map((way) => ({ ...way, plain: [], streamed: [], rates: [] }));
  // Warm up: the first requests of a process are slow.
  for (const { callers } of ways) await flood(callers, { count: warm });
  for (let round = 0; round < rounds; round++) {
    // Rotate, so that no route always follows the same other one.
    const turn = [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)];
    for (const { callers, plain } of turn) {
      for (const { whole } of await steady(callers, { seconds, think })) plain.push(whole);
    }
    for (const { callers, streamed } of turn) {
      for (const { first } of await steady(callers, { seconds, think, stream: true })) streamed.push(first);
    }
    for (const { callers, rates } of turn) rates.push(await flood(callers, { seconds }));
  }
  for (const { callers } of ways) for (const caller of callers) caller.close();

  const of = (name) => ways.find((way) => way.name === name);
  const whole = (name, share) => percentile(of(name).plain, share);
  const first = (name, share) => percentile(of(name).streamed, share);
  const names = ["gateway", ...(of("nginx") ? ["nginx"] : [])];
  const rate = (name) => median(of(name).rates);
  return [
    ...[...names, "floor"].flatMap((name) => [
      added(
        `${named[name] ?? name}, a small request, p50`,
        whole(name, 0.5),
        whole("direct", 0.5),
        name === "gateway" && 0.5,
      ),
      added(
        `${named[name] ?? name}, a small request, p99`,
        whole(name, 0.99),
        whole("direct", 0.99),
        name === "gateway" && 3,
      ),
      added(
        `${named[name] ?? name}, to the first streamed byte, p50`,
        first(name, 0.5),
        first("direct", 0.5),
        name === "gateway" && 2,
      ),
    ]),
    throughput(rate("gateway"), rate("floor")),
    ...["direct", ...names.slice(1)].map((name) => ({
      what: `${named[name]}, small requests`,
      told: perSecond(rate(name)),
      against: "bytes through ssh2",
      peerTold: perSecond(rate("floor")),
      ratio: `${(rate(name) / rate("floor")).toFixed(2)} x`,
      goal: "-",
    })),
    ...(of("nginx") ? [] : [{ what: "nginx", against: "ssh -L", goal: "-", note: "skipped: nginx is not available" }]),
  ];
}

const named = { direct: "ssh -L", nginx: "nginx and ssh -L", floor: "bytes through ssh2" };

/** A row in which a route may take at most `most` milliseconds longer than plain `ssh -L`. */
function added(what, ms, peerMs, most) {
  const more = ms - peerMs;
  return {
    what,
    ms,
    told: `${ms.toFixed(2)} ms`,
    against: "ssh -L",
    peerMs,
    peerTold: `${peerMs.toFixed(2)} ms`,
    ratio: `${more < 0 ? "" : "+"}${more.toFixed(2)} ms`,
    goal: most ? `<= +${most} ms` : "-",
    ...(most && { met: more <= most }),
  };
}

const perSecond = (rate) => `${Math.round(rate)} /s`;

function throughput(rate, floor) {
  return {
    what: "gateway, small requests",
    told: perSecond(rate),
    against: "bytes through ssh2",
    peerTold: perSecond(floor),
    ratio: `${(rate / floor).toFixed(2)} x`,
    goal: ">= 2000 /s or the floor",
    met: rate >= Math.min(2000, floor),
  };
}
