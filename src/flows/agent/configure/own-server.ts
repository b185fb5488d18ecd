import { Fault } from "../../../errors.js";
import { hasSecret, isLiteral, isSecretName } from "../../../secret-shapes.js";
import { isRecord } from "../../../text/record.js";

/** Recorded in plain text, so it refers to secrets as `${NAME}`. The fault names the path, never the value. */
export function mustHoldNoSecret(server: Record<string, unknown>, where: string, path: string): void {
  const [at] = pathsOfSecrets(server, where);
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

function* pathsOfSecrets(value: unknown, where: string, name = ""): Generator<string> {
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries())
      yield* pathsOfSecrets(each, `${where}.${index}`, flagIn(each) ? "" : (flagIn(value[index - 1]) ?? name));
  } else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) yield* pathsOfSecrets(each, `${where}.${key}`, key);
  } else if (["string", "number", "bigint"].includes(typeof value)) {
    const text = String(value);
    if ((isSecretName(name) && isLiteral(text)) || hasSecret(text)) yield where;
  }
}

/** The name of a flag whose value is the next argument. */
const flagIn = (value: unknown): string | undefined =>
  typeof value === "string" ? /^--?([A-Za-z][\w.-]*)$/.exec(value)?.[1] : undefined;
