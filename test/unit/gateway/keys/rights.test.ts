import { expect, it } from "vitest";
import { mayUse, type Right, requireRight } from "../../../../src/gateway/keys/rights.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";
import { sampleKey } from "./sample-key.js";

const rights: Right[] = ["models", "talk", "metrics"];

it.each([
  ["read", ["models", "metrics"]],
  ["chat", ["models", "talk"]],
  ["admin", ["models", "talk", "metrics"]],
] as const)("%s may %j and nothing else", (role, may) => {
  const allowed = rights.filter((right) => {
    try {
      requireRight(sampleKey({ role }), right);
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      expect([error.status, error.code, error.type]).toEqual([403, "role_not_allowed", "permission_error"]);
      expect(error.message).toContain("clm gateway key create --role");
      return false;
    }
  });
  expect(allowed).toEqual(may);
});

it.each([
  [["*"], "lab-1/ada", true],
  [["ada"], "lab-1/ada", true],
  [["ada"], "lab-1/adam", false],
  [["a*"], "lab-1/ada", true],
  [["lab-1/ada"], "lab-1/ada", true],
  [["lab-1/ada"], "lab-2/ada", false],
  [["lab-*/a?a"], "lab-2/ada", true],
  // Without a slash it is an agent's name, never a host's.
  [["lab-1*"], "lab-1/ada", false],
  [["*/ada"], "lab-9/ada", true],
  [["bob", "ada"], "lab-1/ada", true],
  [[], "lab-1/ada", false],
  // What an agent lends is named by itself.
  [["*"], "lab-1/ada/proxy", false],
  [["ada", "lab-1/ada", "a*"], "lab-1/ada/proxy", false],
  [["ada/proxy"], "lab-1/ada/proxy", true],
  [["ada/proxy"], "lab-1/ada", false],
  [["ada/proxy"], "ada/proxy", false],
  [["lab-1/ada/proxy"], "lab-1/ada/proxy", true],
  [["lab-2/ada/proxy"], "lab-1/ada/proxy", false],
  [["lab-1/*/proxy"], "lab-1/ada/proxy", true],
  [["*/proxy"], "lab-1/ada/proxy", true],
] as [string[], string, boolean][])("%j and %s: %s", (agents, agent, may) => {
  const [host = "", name = "", proxy] = agent.split("/");
  expect(mayUse(sampleKey({ agents }), { host, name, proxied: proxy !== undefined })).toBe(may);
});
