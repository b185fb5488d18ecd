import type { IncomingHttpHeaders } from "node:http";
import { Refusal } from "./refusal.js";

export type Route =
  | { does: "health" | "metrics" | "models" }
  | { does: "model"; id: string }
  /** Passed on to an agent or its proxy. */
  | { does: "talk" };

const onlyGet = new Map<string, Route>([
  ["/health", { does: "health" }],
  ["/metrics", { does: "metrics" }],
  ["/v1/models", { does: "models" }],
]);
const onlyPost: readonly string[] = ["/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings"];
const oneModel = "/v1/models/";
const talk: Route = { does: "talk" };
const keyHeaders = ["authorization", "x-clm-key", "x-clm-signature"];

/** Not /health, and not an unknown path without a key, with which anybody who can connect could fill the log. */
export const leavesLine = (path: string, headers: IncomingHttpHeaders): boolean =>
  path !== "/health" &&
  (path.startsWith("/v1") || onlyGet.has(path) || keyHeaders.some((name) => headers[name] !== undefined));

/** Whether it is exactly one of the gateway's paths. */
export const isOurs = (path: string): boolean => onlyPost.includes(path) || onlyGet.has(path);

export function routeOf(method: string, path: string): Route {
  const isPost = onlyPost.includes(path);
  const route = isPost ? talk : (onlyGet.get(path) ?? modelIn(path));
  if (!route)
    throw new Refusal(404, "unknown_path", "There is nothing at this path. The base URL for tools ends in /v1.");
  if (isPost ? method === "POST" : method === "GET" || method === "HEAD") return route;
  throw new MethodRefusal(isPost ? "POST" : "GET, HEAD");
}

/** The name may have slashes, plain or encoded. */
function modelIn(path: string): Route | undefined {
  if (!path.startsWith(oneModel) || path.length === oneModel.length) return undefined;
  try {
    return { does: "model", id: decodeURIComponent(path.slice(oneModel.length)) };
  } catch {
    return undefined;
  }
}

export class MethodRefusal extends Refusal {
  constructor(readonly allow: string) {
    super(405, "method_not_allowed", `Only ${allow} is answered here.`);
  }
}
