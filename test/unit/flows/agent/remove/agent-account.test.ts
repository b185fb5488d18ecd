import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  type AccountObservation,
  doubtsAbout,
  parseAccount,
} from "../../../../../src/flows/agent/remove/agent-account.js";

interface Case {
  name: string;
  status?: "installed" | "removing";
  login?: string;
  shown?: Record<keyof AccountObservation, unknown>;
  /** A part of each. */
  doubts: string[];
}

const cases: Case[] = parse(
  readFileSync(new URL("../../../../cases/remove/taken-over.yaml", import.meta.url), "utf8"),
) as never;

const whole = `account=ada:x:1001:1002:Ada:/home/ada:/usr/sbin/nologin
unit=ada
data=1001 directory
`;

describe("an agent that was taken over is removed only when it is plainly one", () => {
  it.each(cases)("$name", ({ status = "installed", login = "clm", shown = {}, doubts }) => {
    const laid = Object.entries({ ...parseAccount(whole), ...shown }).filter(([, value]) => value !== null);
    const record = { user: "ada", home: "/home/ada", data: "/home/ada/.hermes", unit: "hermes-ada.service", status };
    const found = doubtsAbout(record, Object.fromEntries(laid) as AccountObservation, login);
    expect(found).toEqual(doubts.map((doubt) => expect.stringContaining(doubt)));
  });
});

describe("what its host shows", () => {
  it("is read whole", () => {
    expect(parseAccount(whole)).toEqual({
      account: { uid: 1001, comment: "Ada", home: "/home/ada", shell: "/usr/sbin/nologin" },
      unitUser: "ada",
      data: { kind: "directory", uid: 1001 },
    });
  });

  it("reports a link, and a unit without a user", () => {
    expect(parseAccount("unit=\ndata=1001 symbolic link\n")).toEqual({
      unitUser: "",
      data: { kind: "symbolic", uid: 1001 },
    });
  });

  it("may be nothing", () => {
    expect(parseAccount("")).toEqual({});
  });
});
