import { expect, it } from "vitest";
import { parseObservation } from "../../../../../src/agents/probe/proof/observation.js";

it("a text in pieces is joined, even where a character was cut in two", () => {
  const config = `${"note: ünïcödé\n".repeat(300)}end: true\n`;
  const pieces =
    Buffer.from(config)
      .toString("base64")
      .match(/.{1,2000}/g) ?? [];
  const size = `size.config=${Buffer.byteLength(config)}`;
  const lines = [size, ...pieces.map((piece) => `text.config=${piece}`), "service=W1VuaXRdCg==", "end=yes", ""];
  expect(pieces.length).toBeGreaterThan(2);
  expect(parseObservation(lines.join("\n"))).toMatchObject({
    texts: { config: { there: true, text: config } },
    service: "[Unit]\n",
  });
});
