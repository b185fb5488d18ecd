import type { IncomingMessage } from "node:http";
import { isSpeakable } from "../state/agents.js";
import { defaultOutput } from "./allowance/allowance.js";
import { type Directory, type ServedAgent, targetOf, usableIn, usableOf } from "./exchange/directory.js";
import type { Exchange } from "./exchange/exchange.js";
import { metricsType, type View } from "./exchange/metrics.js";
import type { PendingRequest } from "./exchange/pending-requests.js";
import { mayUse, type Right, requireRight } from "./keys/rights.js";
import type { Models } from "./models.js";
import type { GatewayKey } from "./request/gateway-key.js";
import { type ModelRequest, parseModelRequest } from "./request/model-request.js";
import { maxBodyBytes, readBody, tooLarge } from "./request/read-body.js";
import { Refusal, wrongModel } from "./request/refusal.js";
import { type Route, routeOf } from "./request/routes.js";
import { type ScopedIds, scopedIds, unscopedIds } from "./request/scoped-ids.js";
import { type SessionIds, sessionIdsIn } from "./request/session-ids.js";
import { reachOf } from "./request/session-scope.js";
import { pass } from "./upstream/pass.js";
import type { PooledConnection } from "./upstream-pool/pooled-connection.js";

const json = { "content-type": "application/json" };
const nothing = Buffer.alloc(0);

/** Answers one request, step by step. A step that does not let it pass throws a Refusal. */
export async function answer(exchange: Exchange, models: Models, logBodies: boolean): Promise<void> {
  const { parts, call, request } = exchange;
  if (request.headers.host === undefined && request.httpVersion === "1.1") throw noHost();
  const route = routed(exchange);
  parts.log.mustBeWritable();
  if (route.does === "health") return exchange.answer({ status: 200 }, json, `{"status":"ok"}`);
  const { key, body } = await admitted(exchange, route.does === "model" ? "models" : route.does);
  if (route.does === "metrics") {
    const text = parts.metrics.render(key.role === "admin" ? undefined : viewOf(key));
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

  if (logBodies) exchange.keepLoggedRequest(body);
  const asked = parseModelRequest(body);
  const found = fleet.find(asked.model);
  if (!found || !mayUse(key, usableOf(found))) {
    call.model = parts.redact(asked.model);
    const several = fleet.namesakes(asked.model).filter((agent) => mayUse(key, agent));
    throw several.length > 1 ? ambiguous(several) : noSuchModel(call.model);
  }
  const { agent, proxied } = found;
  call.target = targetOf(found);
  // The name of a proxied model may be anything that the caller typed.
  call.model = proxied === undefined ? asked.model : parts.redact(asked.model);
  const { dialect } = agent;
  const proxy = proxied === undefined ? undefined : agent.proxy;
  const { paths, maxBodyBytes } = proxy ?? dialect;
  if (!paths.includes(call.path)) throw notSupported(call.path, call.target);
  // The provider behind an agent's proxy has no sessions: the agent's own headers mean nothing to it.
  const named = sessionIdsIn(request.headers, asked.members, proxy ? {} : dialect.sessionHeaders);
  const ids = proxy ? unscopedIds(named, dialect) : idsFor(exchange, key, named, agent, asked.members);
  const bufferAnswer = !proxy && !agent.streams && asked.members.stream === true;
  const changes = {
    ...ids.members,
    ...(bufferAnswer && { stream: false }),
    ...(!proxy && removed(dialect.removedMembers, asked.members)),
  };
  const isChanged = Object.keys(changes).length > 0;
  const sent = proxied !== undefined ? asked.withModel(proxied) : isChanged ? asked.withMembers(changes) : body;
  if (sent.length > maxBodyBytes) throw tooLarge(maxBodyBytes);

  const { signal } = exchange;
  const { input, output } = asked;
  const runs = { provider: proxy?.provider ?? agent.provider, model: proxied ?? agent.model };
  const estimate = { target: call.target, ...runs, input, output, ids: named };
  const reservation = await parts.allowance.reserve(key, estimate, signal);
  exchange.reservation = reservation;
  signal.throwIfAborted();
  const turn = exchange.traffic.queue.enter(call.target, key, signal);
  exchange.onEnd(turn instanceof Promise ? await turn : turn);
  signal.throwIfAborted();
  // Before a connection is taken: if this failed, it would not be given back.
  const tokens = { input: input + (reservation.history ?? 0), output: output ?? defaultOutput };
  parts.log.sent({ call, tokens, ...reservation.cost(tokens) });
  const connection = await connectionTo(exchange, key, agent, { proxy: proxy !== undefined, asked: asked.model });
  // Without the query: agents read none, and a key that was put there would appear in their log.
  const { path } = call;
  const from = proxy ? "proxy" : path === "/v1/responses" ? "responses" : "chat";
  await pass(exchange, connection, { path, body: sent, agent, ...tokens, from, bufferAnswer, ids });
}

function removed(names: readonly string[], members: ModelRequest["members"]): Record<string, undefined> {
  const changes: Record<string, undefined> = {};
  for (const name of names) if (Object.hasOwn(members, name)) changes[name] = undefined;
  return changes;
}

function idsFor(
  { parts, call }: Exchange,
  key: GatewayKey,
  named: SessionIds,
  { dialect }: ServedAgent,
  members: ModelRequest["members"],
): ScopedIds {
  const reach = reachOf(key);
  if (reach !== "own") call.sessions = reach;
  const scope = parts.keyring.scopeOf(key);
  return scope ? scopedIds(named, members, scope, dialect) : unscopedIds(named, dialect);
}

/** A request for an unknown path is logged with its key, if that is known. */
function routed({ call, parts, request }: Exchange): Route {
  try {
    return routeOf(call.method, call.path);
  } catch (refusal) {
    try {
      call.key = parts.keyring.whose(bearerIn(request));
    } catch {
      // The path is unknown to everybody, so the key does not matter for the answer.
    }
    if (call.key) parts.allowance.count(call.key);
    throw refusal;
  }
}

const bearerIn = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];

/** Reads the body, if the key (or requests that claim to be signed by it) has room for it. */
async function bodyIn(exchange: Exchange, who: string): Promise<{ body: Buffer; held?: PendingRequest }> {
  const { request, response, signal, traffic } = exchange;
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  if (coding === undefined && (length === undefined || length === "0")) return { body: nothing };
  const most = coding === undefined ? Number(length) : maxBodyBytes;
  const held = traffic.pending.enter(who, Math.min(most, maxBodyBytes));
  exchange.onEnd(held.leave);
  const body = await readBody(request, response, signal);
  held.resize(body.length);
  return { body, held };
}

/** The caller's key and the body. Without a valid key the body is read only if a key may have signed it. */
async function admitted(exchange: Exchange, right: Right): Promise<{ key: GatewayKey; body: Buffer }> {
  const { parts, call, request } = exchange;
  const { headers, url = "" } = request;
  if (headers["x-clm-signature"] === undefined && headers["x-clm-key"] === undefined) {
    const key = parts.keyring.whose(bearerIn(request));
    call.key = key;
    parts.allowance.count(key);
    requireRight(key, right);
    const { body } = await bodyIn(exchange, key.id);
    return { key, body };
  }
  parts.mustBeSignable(headers);
  // Anybody who knows the id of a key can send bodies in its name: they must not take room from signed ones.
  const { body, held } = await bodyIn(exchange, `unverified ${headers["x-clm-key"]}`);
  const { key, nonce } = await parts.signed({ method: call.method, url, headers, body });
  if (held) {
    held.leave();
    exchange.onEnd(exchange.traffic.pending.enter(key.id, body.length).leave);
  }
  Object.assign(call, { key, nonce });
  parts.allowance.count(key);
  requireRight(key, right);
  return { key, body };
}

/** The request may have waited, its key been revoked or the agent moved: both are checked right before sending. */
async function connectionTo(
  exchange: Exchange,
  key: GatewayKey,
  { host, name, dialect: { idleTimeout } }: ServedAgent,
  { proxy, asked }: { proxy: boolean; asked: string },
): Promise<PooledConnection> {
  const { parts, signal } = exchange;
  const markIn = (fleet: Directory) => {
    const agent = fleet.find(`${host}/${name}`)?.agent;
    if (!agent || (proxy && !agent.proxy)) throw noSuchModel(asked);
    return agent.mark;
  };
  for (;;) {
    const mark = markIn(await parts.fleet());
    const connection = await parts.upstreamPool({ host, name, proxy, mark, idleTimeout }).take(signal);
    let isRight = false;
    try {
      parts.keyring.mustStillOpen(key);
      // A connection that ended during the wait would never answer.
      isRight = markIn(await parts.fleet()) === mark && !connection.over;
      if (isRight) return connection;
    } finally {
      if (!isRight) connection.giveBack();
    }
  }
}

/** Metrics of the agents that a key may use, and of no other key. */
const viewOf = (key: GatewayKey): View => ({
  key: key.name,
  target: (target) => mayUse(key, usableIn(target)),
});

const ambiguous = (agents: readonly ServedAgent[]): Refusal => {
  const words = agents.map(({ word }) => `\`${word}\``).join(", ");
  return wrongModel(404, "model_not_found", `Several agents have this name. Use one of ${words}.`);
};

/** The same for an unknown model and one that the key may not use, so that the key does not learn that it exists. */
function noSuchModel(word: string): Refusal {
  const what = isSpeakable(word) ? `The model \`${word}\`` : "The model";
  const text = `${what} does not exist or this key may not use it. GET /v1/models lists the models of this key.`;
  return wrongModel(404, "model_not_found", text);
}

const noHost = (): Refusal => new Refusal(400, "missing_host", "The request has no Host header.");

const notSupported = (path: string, target: string): Refusal =>
  wrongModel(404, "not_supported_by_target", `${target} does not answer ${path}.`);
