import { expect, it } from "vitest";
import { heard } from "../../../src/cli/agent/inside/heard.js";
import type { Agent } from "../../../src/state/agents.js";

const [ada, ben] = [{ name: "ada" }, { name: "ben" }] as [Agent, Agent];
const clean = (text: string, cut: boolean) => `<${text}${cut ? " cut" : ""}>`;

it("is what each agent said on each stream", () => {
  const said = heard(clean, 10);
  said.hear(ada, "stdout", Buffer.from("12345"));
  said.hear(ada, "stdout", Buffer.from("67890"));
  said.hear(ada, "stderr", Buffer.from("oops"));
  expect([said.text(ada, "stdout"), said.text(ada, "stderr"), said.text(ben, "stdout")]).toEqual([
    "1234567890",
    "oops",
    "",
  ]);
});

it("is cut when it is too much, whatever still comes", () => {
  const said = heard(clean, 10);
  for (let times = 0; times < 5; times++) said.hear(ada, "stdout", Buffer.from("1234567"));
  said.hear(ada, "stderr", Buffer.from("all"));
  expect([said.text(ada, "stdout"), said.text(ada, "stderr")]).toEqual(["<1234567123 cut>\n", "all"]);
});
