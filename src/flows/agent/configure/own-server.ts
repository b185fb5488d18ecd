import { Fault } from "../../../errors.js";
import { hasSecret, isLiteral, isSecretName } from "../../../secret-shapes.js";

/** Recorded in plain text, so it refers to secrets as `${NAME}`. The fault names the path, never the value. */
export function mustHoldNoSecret(server: Record<string, unknown>, where: string, path: string): void {
  const at = pathOfSecret(server, where);
  if (at === undefined) return;
  throw new Fault("bad-input", `${at} in ${path} looks like a secret, which must not be there`, {
    why: `store it with clm agent secret set AGENT NAME, and write \${NAME} there`,
  });
}

export function mustBeServer(server: Record<string, unknown>, where: string, path: string): void {
  const keys = ["command", "url"].filter((key) => server[key] !== undefined && server[key] !== null);
  const text = server[keys[0] ?? ""];
  if (keys.length === 1 && typeof text === "string" && text.trim() !== "") return;
  throw new Fault("bad-input", `${where} in ${path} is not valid`, {
    why: "a custom server needs either a command that starts it or the url of a running one, as a string",
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

function first<T, R>(all: T[], find: (each: T, index: number) => R | undefined): R | undefined {
  for (const [index, each] of all.entries()) {
    const found = find(each, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a flag whose value is the next argument. */
const flagIn = (value: unknown): string | undefined =>
  typeof value === "string" ? /^--?([A-Za-z][\w.-]*)$/.exec(value)?.[1] : undefined;
