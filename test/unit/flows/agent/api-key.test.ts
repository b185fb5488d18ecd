import { beforeEach, describe, expect, it } from "vitest";
import { Fault } from "../../../../src/errors.js";
import { apiKeyOf, mustHaveOneKey, newKey, promoteKey } from "../../../../src/flows/agent/api-key.js";
import { Secret } from "../../../../src/secret.js";
import { openSecrets, type Secrets } from "../../../../src/state/secrets.js";
import { scratchDirectories } from "../../state/scratch.js";

const place = { instance: { host: "lab-1", type: "hermes", agent: "ada" }, name: "HERMES_API_SERVER_KEY", ref: "ada" };
const [current, next] = ["a".repeat(64), "b".repeat(64)];
const directory = scratchDirectories();
let secrets: Secrets;
let hidden: string[];

beforeEach(() => {
  secrets = openSecrets(directory());
  hidden = [];
});

const session = () => ({ secrets, ui: { hide: (secret: Secret) => hidden.push(secret.reveal()) } as never });
const keep = async (name: string, value: string) => secrets.set(place.instance, name, new Secret(value), "a key");

describe("the key an agent's files should have", () => {
  it("is the one there is", async () => {
    await keep(place.name, current);
    const { key, pending } = apiKeyOf(session(), place);
    expect([key.reveal(), pending, hidden]).toEqual([current, false, [current]]);
  });

  it("is the new one during a rotation, whatever the old one is", async () => {
    await keep(place.name, "spoiled");
    await keep(`${place.name}_NEXT`, next);
    const { key, pending } = apiKeyOf(session(), place);
    expect([key.reveal(), pending, hidden.sort()]).toEqual([next, true, [next, "spoiled"]]);
  });

  it("is not an invalid new one", async () => {
    await keep(place.name, current);
    await keep(`${place.name}_NEXT`, "spoiled");
    expect(apiKeyOf(session(), place).key.reveal()).toBe(current);
  });

  it.each(["", "spoiled", current.toUpperCase(), current.slice(1), `${current}\n`])(
    "is refused when it is %j, and not shown",
    async (value) => {
      if (value !== "") await keep(place.name, value);
      try {
        apiKeyOf(session(), place);
        expect.unreachable();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        expect([error.fault, error.next]).toEqual(["state-corrupt", ["clm agent rotate-key ada"]]);
        if (value !== "") expect([error.message, ...error.why].join()).not.toContain(value);
      }
    },
  );
});

describe("a proof uses one key", () => {
  const told = () => {
    try {
      mustHaveOneKey(session(), { ...place, ref: "lab-1/ada" });
      return [];
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return [error.fault, ...error.next];
    }
  };

  it("and is refused while another replaces it", async () => {
    await keep(place.name, current);
    expect(told()).toEqual([]);
    await keep(`${place.name}_NEXT`, next);
    expect(told()).toEqual(["not-ready", "clm agent rotate-key lab-1/ada"]);
    await promoteKey(session(), place);
    expect(told()).toEqual([]);
  });

  it("even beside an invalid new one", async () => {
    await keep(place.name, current);
    await keep(`${place.name}_NEXT`, "spoiled");
    expect(told()).toEqual([]);
  });
});

describe("promoting a key", () => {
  it("puts it in the old one's place, and may be done again", async () => {
    await keep(place.name, current);
    await keep(`${place.name}_NEXT`, next);
    for (let times = 0; times < 2; times++) {
      await promoteKey(session(), place);
      expect(secrets.names(place.instance)).toEqual([place.name]);
      expect(secrets.get(place.instance, place.name)?.reveal()).toBe(next);
    }
  });

  it("drops an invalid one", async () => {
    await keep(place.name, current);
    await keep(`${place.name}_NEXT`, "spoiled");
    await promoteKey(session(), place);
    expect(secrets.get(place.instance, place.name)?.reveal()).toBe(current);
    expect(secrets.names(place.instance)).toEqual([place.name]);
  });
});

it("makes keys of 64 hex digits, each another", () => {
  const keys = Array.from({ length: 5 }, () => newKey().reveal());
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(keys).size).toBe(5);
});
