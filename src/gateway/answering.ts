import type { IncomingMessage } from "node:http";
import { isSpeakable } from "../state/agents.js";
import { defaultOutput } from "./allowance/allowance.js";
import { type Directory, type ServedAgent, targetOf, usableIn, usableOf } from "./directory.js";
import type { Exchange } from "./exchange.js";
import type { GatewayKey } from "./keys/key.js";
import type { Right } from "./keys/rights.js";
import { metricsType, type View } from "./metrics.js";
import { type ModelRequest, parseModelRequest } from "./model-request.js";
import type { Models } from "./models.js";
import type { PendingRequest } from "./pending-requests.js";
import { maxBodyBytes, readBody, tooLarge } from "./read-body.js";
import { Refusal } from "./refusal.js";
import { agentPaths, type Route, routeOf } from "./routes.js";
import { type ScopedIds, scopedIds } from "./scoped-ids.js";
import { type SessionIds, sessionIdsIn } from "./session-ids.js";
import { reachOf } from "./session-scope.js";
import { pass } from "./upstream/pass.js";
import type { PooledConnection } from "./upstream-pool/pooled-connection.js";

const json = { "content-type": "application/json" };
const nothing = Buffer.alloc(0);

/** One request, in order. Whatever does not let it pass throws a Refusal. */
export async function answer(exchange: Exchange, models: Models, logBodies: boolean): Promise<void> {
  const { parts, call, request } = exchange;
  if (request.headers.host === undefined && request.httpVersion === "1.1") throw noHost();
  const route = routed(exchange);
  parts.log.mustBeWritable();
  if (route.does === "health") return exchange.answer({ status: 200 }, json, `{"status":"ok"}`);
  const { key, body } = await admitted(exchange, route.does === "model" ? "models" : route.does);
  if (route.does === "metrics") {
    const text = parts.metrics.render(key.role === "admin" ? undefined : viewOf(exchange, key));
    return exchange.answer({ status: 200 }, { "content-type": metricsType }, text);
  }
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
  const asked = parseModelRequest(body);
  const found = fleet.find(asked.model);
  if (!found || !parts.mayUse(key, usableOf(found))) {
    call.model = parts.redact(asked.model);
    const several = fleet.namesakes(asked.model).filter((agent) => parts.mayUse(key, agent));
    throw several.length > 1 ? ambiguous(several) : noSuchModel(call.model);
  }
  const { agent, proxied } = found;
  call.target = targetOf(found);
  // The name behind a proxy is whatever the caller typed.
  call.model = proxied === undefined ? asked.model : parts.redact(asked.model);
  const proxy = proxied === undefined ? undefined : agent.proxy;
  if (!(proxy?.paths ?? agentPaths).includes(call.path)) throw notSupported(call.path, call.target);
  const named = sessionIdsIn(request.headers, asked.members);
  // Hermes' headers are not sent to a proxy.
  if (proxied !== undefined) delete named.session;
  const ids = proxied === undefined ? idsFor(exchange, key, named, asked.members) : noIds(named);
  const whole = proxied === undefined && agent.streamless === true && asked.members.stream === true;
  const changes = {
    ...ids.members,
    ...(whole && { stream: false }),
    ...(proxied === undefined && unpriced(asked.members)),
  };
  const isChanged = Object.keys(changes).length > 0;
  const sent = proxied !== undefined ? asked.withModel(proxied) : isChanged ? asked.withMembers(changes) : body;
  if (proxy && sent.length > proxy.largest) throw tooLarge(proxy.largest);

  const { signal } = exchange;
  const { input, output } = asked;
  const runs = { provider: proxy?.provider ?? agent.provider, model: proxied ?? agent.model };
  const wanted = { target: call.target, ...runs, input, output, ids: named };
  const reservation = await parts.allowance.reserve(key, wanted, signal);
  exchange.reservation = reservation;
  signal.throwIfAborted();
  const turn = exchange.traffic.queue.enter(call.target, key, signal);
  exchange.holds(turn instanceof Promise ? await turn : turn);
  signal.throwIfAborted();
  // Before there is a lane, which nobody would give back if this could not be written.
  const tokens = { input: input + (reservation.history ?? 0), output: output ?? defaultOutput };
  parts.log.sent({ call, tokens, ...reservation.cost(tokens) });
  const { host, name, failures } = agent;
  const connection = await connectionTo(exchange, key, { host, name, proxy: proxy !== undefined, asked: asked.model });
  // Without the query: nothing that an agent has reads one, and a key that was put there would stand in its log.
  const { path } = call;
  const from = proxy ? "proxy" : path === "/v1/responses" ? "responses" : "chat";
  await pass(exchange, connection, { path, body: sent, ...tokens, failures, from, whole, ids });
}

/**
 * Members by which newer versions of Hermes take another provider or model than the agent's own, which is the one that is priced.
 * They are left out.
 */
function unpriced(said: ModelRequest["members"]): Record<string, undefined> {
  const changes: Record<string, undefined> = {};
  for (const name of ["provider", "model_options"]) if (Object.hasOwn(said, name)) changes[name] = undefined;
  return changes;
}

/** What the caller calls a session, and what the agent is told. */
function idsFor(
  { parts, call }: Exchange,
  key: GatewayKey,
  named: SessionIds,
  said: ModelRequest["members"],
): ScopedIds {
  const reach = reachOf(key);
  if (reach !== "own") call.sessions = reach;
  return scopedIds(named, said, parts.scopeOf(key));
}

/** A proxy's vendor has no sessions; the key of a repeated request is its own. */
const noIds = ({ idempotencyKey }: SessionIds): ScopedIds =>
  scopedIds(idempotencyKey === undefined ? {} : { idempotencyKey }, {}, undefined);

/** Who asks for what is not there is written down with it, where that can be told. */
function routed({ call, parts, request }: Exchange): Route {
  try {
    return routeOf(call.method, call.path);
  } catch (refusal) {
    const key = knownIn(parts, request);
    if (key) {
      call.key = key;
      parts.allowance.count(key);
    }
    throw refusal;
  }
}

/** Nobody where it is a stranger, or somebody whose key has ended: that there is nothing here is the same to all. */
function knownIn({ keyring }: Exchange["parts"], request: IncomingMessage): GatewayKey | undefined {
  try {
    return keyring.whose(bearerIn(request));
  } catch {
    return undefined;
  }
}

const bearerIn = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];

/** The body, for which there must be room among those of a key, or of those that say that the key signed them. */
async function bodyIn(exchange: Exchange, who: string): Promise<{ body: Buffer; held?: PendingRequest }> {
  const { request, response, signal, traffic } = exchange;
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  if (coding === undefined && (length === undefined || length === "0")) return { body: nothing };
  const most = coding === undefined ? Number(length) : maxBodyBytes;
  const held = traffic.pending.enter(who, Math.min(most, maxBodyBytes));
  exchange.holds(held.leave);
  const body = await readBody(request, response, signal);
  held.resize(body.length);
  return { body, held };
}

interface Caller {
  key: GatewayKey;
  body: Buffer;
}

/** Who asks, and their body: that of a stranger is not read, unless it may be signed by somebody who is none. */
async function admitted(exchange: Exchange, right: Right): Promise<Caller> {
  const { parts, call, request } = exchange;
  const { headers, url = "" } = request;
  if (headers["x-clm-signature"] === undefined && headers["x-clm-key"] === undefined) {
    const key = parts.keyring.whose(bearerIn(request));
    call.key = key;
    parts.allowance.count(key);
    parts.mustMay(key, right);
    const { body } = await bodyIn(exchange, key.id);
    return { key, body };
  }
  parts.mustBeSignable(headers);
  // Whoever knows the id of a key can send bodies in its name that it did not sign: those take no room from its own.
  const { body, held } = await bodyIn(exchange, `unverified ${headers["x-clm-key"]}`);
  const { key, nonce } = await parts.signed({ method: call.method, url, headers, body });
  if (held) {
    held.leave();
    exchange.holds(exchange.traffic.pending.enter(key.id, body.length).leave);
  }
  Object.assign(call, { key, nonce });
  parts.allowance.count(key);
  parts.mustMay(key, right);
  return { key, body };
}

interface ConnectionTarget {
  host: string;
  name: string;
  proxy: boolean;
  /** The model, as it was asked for. */
  asked: string;
}

/**
 * A lane to where the agent is now, for who may still use it. There may have been a wait for an allowance, and for the lane:
 * meanwhile a key can be revoked and a host can become another, so both are looked at right before anything is sent.
 */
async function connectionTo(
  exchange: Exchange,
  key: GatewayKey,
  { host, name, proxy, asked }: ConnectionTarget,
): Promise<PooledConnection> {
  const { parts, signal } = exchange;
  const markIn = (fleet: Directory) => {
    const agent = fleet.find(`${host}/${name}`)?.agent;
    if (!agent || (proxy && !agent.proxy)) throw noSuchModel(asked);
    return agent.mark;
  };
  for (;;) {
    const mark = markIn(await parts.fleet());
    const connection = await parts.upstreamPool({ host, name, proxy, mark }).take(signal);
    let isRight = false;
    try {
      parts.keyring.mustStillOpen(key);
      const now = await parts.fleet();
      // It may have ended during the wait, and who sends something then hears nothing.
      isRight = markIn(now) === mark && !connection.over;
      if (isRight) return connection;
    } finally {
      if (!isRight) connection.giveBack();
    }
  }
}

/** A key that does not see everything sees its agents, and of keys itself. */
const viewOf = ({ parts }: Exchange, key: GatewayKey): View => ({
  key: key.name,
  target: (target) => parts.mayUse(key, usableIn(target)),
});

const ambiguous = (agents: readonly ServedAgent[]): Refusal => {
  const words = agents.map(({ word }) => `\`${word}\``).join(", ");
  return new Refusal(404, "model_not_found", `Several agents have this name. Say which: ${words}.`, { param: "model" });
};

/** The same for what is not there and for what the key may not use: who may not use it does not learn that it is there. */
function noSuchModel(word: string): Refusal {
  const what = isSpeakable(word) ? `The model \`${word}\`` : "The model";
  const text = `${what} does not exist or this key may not use it. GET /v1/models lists what it may use.`;
  return new Refusal(404, "model_not_found", text, { param: "model" });
}

const noHost = (): Refusal => new Refusal(400, "missing_host", "A request must say which Host it is for.");

const notSupported = (path: string, target: string): Refusal =>
  new Refusal(404, "not_supported_by_target", `${target} does not answer ${path}.`, { param: "model" });
