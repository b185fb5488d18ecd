import { Fault } from "../../../errors.js";
import { hasSecret, isLiteral, isSecretName } from "../../../secret-shapes.js";

/**
 * An MCP server of the user's own is recorded and rendered as it stands, so a secret stands there as `${NAME}` and its
 * value is one of the agent's own secrets. What looks like a value is refused by its place, and never repeated.
 */
export function mustHoldNoSecret(server: Record<string, unknown>, where: string, path: string): void {
  const place = pathOfSecret(server, where);
  if (place === undefined) return;
  throw new Fault("bad-input", `${place} in ${path} looks like a secret, which does not stand there`, {
    why: `put it in with clm agent secret set AGENT NAME, and write \${NAME} there`,
  });
}

/** One that is started on the host, or one that is called: never both, never neither. */
export function mustBeServer(server: Record<string, unknown>, where: string, path: string): void {
  const ways = ["command", "url"].filter((way) => server[way] !== undefined && server[way] !== null);
  const [way = ""] = ways;
  const text = server[way];
  if (ways.length === 1 && typeof text === "string" && text.trim() !== "") return;
  throw new Fault("bad-input", `${where} in ${path} is not right`, {
    why: "a server of your own has either a command that starts it or the url of one that runs, as a text",
  });
}

function pathOfSecret(value: unknown, where: string, name = ""): string | undefined {
  if (Array.isArray(value)) {
    return first(value, (each, index) =>
      pathOfSecret(each, `${where}.${index}`, flagIn(each) ? "" : (flagIn(value[index - 1]) ?? name)),
    );
  }
  if (typeof value === "object" && value !== null) {
    return first(Object.entries(value), ([key, each]) => pathOfSecret(each, `${where}.${key}`, key));
  }
  if (!["string", "number", "bigint"].includes(typeof value)) return undefined;
  const text = String(value);
  return (isSecretName(name) && isLiteral(text)) || hasSecret(text) ? where : undefined;
}

function first<T, R>(all: T[], look: (each: T, index: number) => R | undefined): R | undefined {
  for (const [index, each] of all.entries()) {
    const found = look(each, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a flag that stands alone, so that what follows is its value. */
const flagIn = (value: unknown): string | undefined =>
  typeof value === "string" ? /^--?([A-Za-z][\w.-]*)$/.exec(value)?.[1] : undefined;
