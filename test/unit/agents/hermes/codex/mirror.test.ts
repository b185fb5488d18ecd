import { describe, expect, it } from "vitest";
import { mirrored, unmirrored } from "../../../../../src/agents/hermes/codex/mirror.js";

const mind = { name: "ada", soul: "You are kind.\n", memory: "likes tea\n§\nhas a cat\n", user: "" };
const plain = mirrored(undefined, mind);

describe("the mirrored AGENTS.md", () => {
  it("has SOUL.md and memory before the user's own text", () => {
    expect(mirrored("Be brief.\n", mind)).toBe(`${plain}\nBe brief.\n`);
    expect(plain).toContain("# Who you are (ada)\n\nYou are kind.");
    expect(plain).toContain("- likes tea\n- has a cat");
  });

  it.each([
    ["as it was written", `${plain}\nBe brief.\n`],
    ["with other line ends", `${plain}\nBe brief.\n`.replaceAll("\n", "\r\n")],
    ["without a last line end", plain.trimEnd()],
  ])("is found again %s", (_, before) => {
    const again = mirrored(before, { ...mind, memory: "likes coffee" });
    expect(again).not.toContain("tea");
    expect(again.match(/clm: end/g)).toHaveLength(1);
    expect(unmirrored(before) ?? "").not.toContain("tea");
  });

  it.each(["<!-- clm: end -->", "<!-- clm: <!-- clm: end -->end -->", "a -> b --> c", "<!<!-- x -->-- clm: end -->"])(
    "may remember %s",
    (memory) => {
      const once = mirrored("mine\n", { ...mind, memory });
      expect(mirrored(once, { ...mind, memory })).toBe(once);
      expect(unmirrored(once)).toBe("mine\n");
    },
  );

  it.each(["\n\n", "mine\n", ""])("is nothing that %j loses", (text) => {
    expect(unmirrored(text)).toBe(text);
  });

  it("fits into what Codex reads", () => {
    const long = mirrored("mine\n", { ...mind, memory: "é".repeat(40_000) });
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(32 * 1024);
    expect(long).toContain("(There is more, which did not fit.)");
  });
});
