import { expect, it } from "vitest";
import { ExecOutput } from "../../../../src/cli/agent/exec.js";
import type { Agent } from "../../../../src/state/agents.js";

const [ada, ben] = [{ name: "ada" }, { name: "ben" }] as [Agent, Agent];
const clean = (text: string, cut: boolean) => `<${text}${cut ? " cut" : ""}>`;

it("keeps each stream of each agent", () => {
  const output = new ExecOutput(clean, 10);
  output.add(ada, "stdout", Buffer.from("12345"));
  output.add(ada, "stdout", Buffer.from("67890"));
  output.add(ada, "stderr", Buffer.from("oops"));
  expect(output.of(ada)).toEqual({ stdout: "1234567890", stderr: "oops" });
  expect(output.of(ben)).toEqual({ stdout: "", stderr: "" });
});

it("is truncated once it is too long, whatever follows", () => {
  const output = new ExecOutput(clean, 10);
  for (let times = 0; times < 5; times++) output.add(ada, "stdout", Buffer.from("1234567"));
  output.add(ada, "stderr", Buffer.from("all"));
  expect(output.of(ada)).toEqual({ stdout: "<1234567123 cut>\n", stderr: "all" });
});
