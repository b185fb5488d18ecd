import { isSpeakable } from "../state/agents.js";
import { askedIn } from "./asked.js";
import { bodyOf, tooLarge } from "./body.js";
import { targetOf } from "./directory.js";
import type { Exchange } from "./exchange.js";
import type { GatewayKey } from "./keys/key.js";
import type { Models } from "./models.js";
import { pass } from "./pass.js";
import { Refusal } from "./refusal.js";
import { agentPaths, routeOf } from "./routes.js";

const json = { "content-type": "application/json" };
const nothing = Buffer.alloc(0);

/** One request, in order. Whatever does not let it pass throws a Refusal. */
export async function answer(exchange: Exchange, models: Models, logBodies: boolean): Promise<void> {
  const { parts, call, request } = exchange;
  const route = routeOf(call.method, call.path);
  parts.log.mustBeWritable();
  if (route.does === "health") return exchange.answer({ status: 200 }, json, `{"status":"ok"}`);
  const body = await bodyIn(exchange);
  const key = await whose(exchange, body);
  call.key = key;
  if (route.does === "metrics") {
    parts.mustMay(key, "metrics");
    return exchange.answer({ status: 200 }, { "content-type": "text/plain; version=0.0.4" }, parts.metrics.render());
  }
  parts.mustMay(key, route.does === "talk" ? "talk" : "models");
  const known = parts.fleet();
  const fleet = known instanceof Promise ? await known : known;
  if (route.does === "models") {
    const data = await models.list(fleet, key);
    return exchange.answer({ status: 200 }, json, JSON.stringify({ object: "list", data }));
  }
  if (route.does === "model") {
    const model = await models.find(fleet, key, route.id);
    if (!model) throw noSuchModel(route.id);
    return exchange.answer({ status: 200 }, json, JSON.stringify(model));
  }

  if (logBodies) exchange.keepAsked(body);
  const asked = askedIn(body);
  const found = fleet.find(asked.model);
  if (!found || !parts.mayUse(key, found.agent)) throw noSuchModel(asked.model);
  const { agent, proxied } = found;
  call.target = targetOf(found);
  call.model = asked.model;
  const proxy = proxied === undefined ? undefined : agent.proxy;
  if (!(proxy?.paths ?? agentPaths).includes(call.path)) throw notSupported(call.path, call.target);
  const sent = proxied === undefined ? body : asked.as(proxied);
  if (proxy && sent.length > proxy.largest) throw tooLarge(proxy.largest);

  const { signal } = exchange;
  const { input, output } = asked;
  const runs = { provider: proxy?.provider ?? agent.provider, model: proxied ?? agent.model };
  exchange.reservation = await parts.allowance.reserve(key, { target: call.target, ...runs, input, output }, signal);
  signal.throwIfAborted();
  const { host, name, failures } = agent;
  const taken = parts.road({ host, name, proxy: proxy !== undefined }).take(signal);
  const lane = taken instanceof Promise ? await taken : taken;
  // With the query, though nothing an agent has reads one.
  const path = request.url ?? call.path;
  await pass(exchange, lane, { path, body: sent, input, failures, proxied: proxy !== undefined });
}

function bodyIn({ request, response, signal }: Exchange): Buffer | Promise<Buffer> {
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  return coding === undefined && (length === undefined || length === "0") ? nothing : bodyOf(request, response, signal);
}

function whose({ parts, call, request }: Exchange, body: Buffer): GatewayKey | Promise<GatewayKey> {
  const { headers, url = "" } = request;
  if (headers["x-clm-signature"] === undefined && headers["x-clm-key"] === undefined) {
    return parts.keyring.whose(/^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1]);
  }
  return parts.signed({ method: call.method, url, headers, body }).then(({ key, nonce }) => {
    call.nonce = nonce;
    return key;
  });
}

/** The same for what is not there and for what the key may not use: who may not use it does not learn that it is there. */
function noSuchModel(word: string): Refusal {
  const what = mayRepeat(word) ? `The model \`${word}\`` : "The model";
  const text = `${what} does not exist or this key may not use it. GET /v1/models lists what it may use.`;
  return new Refusal(404, "model_not_found", text, { param: "model" });
}

/** A key may have been typed in the wrong place. */
const mayRepeat = (word: string): boolean => word.length <= 100 && isSpeakable(word) && !/(clm_|sk-)/.test(word);

const notSupported = (path: string, target: string): Refusal =>
  new Refusal(404, "not_supported_by_target", `${target} does not answer ${path}.`, { param: "model" });
