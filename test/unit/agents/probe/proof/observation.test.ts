import { expect, it } from "vitest";
import { parseObservation } from "../../../../../src/agents/probe/proof/observation.js";

it("a text that came in pieces is whole, also where a character was cut in two", () => {
  const config = `${"note: ünïcödé\n".repeat(300)}end: true\n`;
  const pieces =
    Buffer.from(config)
      .toString("base64")
      .match(/.{1,2000}/g) ?? [];
  const lines = [...pieces.map((piece) => `config=${piece}`), "service=W1VuaXRdCg==", "end=yes", ""];
  expect(pieces.length).toBeGreaterThan(2);
  expect(parseObservation(lines.join("\n"))).toMatchObject({ config, service: "[Unit]\n" });
});
