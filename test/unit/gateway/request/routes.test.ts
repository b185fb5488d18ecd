import { describe, expect, it } from "vitest";
import { Directory } from "../../../../src/gateway/exchange/directory.js";
import { parseModelRequest } from "../../../../src/gateway/request/model-request.js";
import { routeOf } from "../../../../src/gateway/request/routes.js";
import { served } from "../test-gateway.js";

describe("routes", () => {
  const cases: [method: string, path: string, found: object | number][] = [
    ["GET", "/health", { does: "health" }],
    ["GET", "/metrics", { does: "metrics" }],
    ["GET", "/v1/models", { does: "models" }],
    ["GET", "/v1/models/wolf-i/ada", { does: "model", id: "wolf-i/ada" }],
    ["GET", "/v1/models/wolf-i%2Fada%2Fproxy%2Fa%3Ab", { does: "model", id: "wolf-i/ada/proxy/a:b" }],
    ["POST", "/v1/chat/completions", { does: "talk" }],
    ["POST", "/v1/responses", { does: "talk" }],
    ["POST", "/v1/completions", { does: "talk" }],
    ["POST", "/v1/embeddings", { does: "talk" }],
    ["GET", "/v1/models/", 404],
    ["GET", "/v1/models/%E0", 404],
    ["GET", "/v1/chat/completions/", 404],
    ["GET", "/", 404],
    ["GET", "//health", 404],
    ["HEAD", "/health", { does: "health" }],
    ["OPTIONS", "/v1/responses", 405],
    ["DELETE", "/v1/models/ada", 405],
  ];
  it.each(cases)("%s %s", (method, path, found) => {
    if (typeof found === "object") expect(routeOf(method, path)).toEqual(found);
    else expect(() => routeOf(method, path)).toThrow(expect.objectContaining({ status: found }));
  });
});

describe("model names", () => {
  const proxy = { provider: "nous", paths: [], maxBodyBytes: 1 };
  const fleet = new Directory([
    served({ proxy }),
    served({ name: "ben", word: "wolf-i/ben" }),
    served({ host: "wolf-j", name: "ben", word: "wolf-j/ben", proxy }),
    served({ host: "wolf-j", name: "proxy", word: "proxy", proxy }),
  ]);
  const cases: [word: string, found: [host: string, name: string, proxied?: string] | undefined][] = [
    ["ada", ["wolf-i", "ada"]],
    ["wolf-i/ada", ["wolf-i", "ada"]],
    ["ada/proxy/vendor/m:1", ["wolf-i", "ada", "vendor/m:1"]],
    ["wolf-j/ben/proxy/m", ["wolf-j", "ben", "m"]],
    ["wolf-j/proxy", ["wolf-j", "proxy"]],
    ["wolf-j/proxy/proxy/m", ["wolf-j", "proxy", "m"]],
    ["proxy/proxy/proxy/m", ["wolf-j", "proxy", "proxy/m"]],
    ["ben", undefined],
    ["wolf-i/ben/proxy/m", undefined],
    ["ada/proxy/", undefined],
    ["ada/proxy", undefined],
    ["ada/", undefined],
    ["__proto__", undefined],
  ];
  it.each(cases)("%s", (word, expected) => {
    const found = fleet.find(word);
    const seen = found && [found.agent.host, found.agent.name, ...(found.proxied === undefined ? [] : [found.proxied])];
    expect(seen).toEqual(expected);
  });
});

describe("requests", () => {
  const asked = (body: object) => parseModelRequest(Buffer.from(JSON.stringify({ model: "ada", ...body })));

  it("is counted by its length, an image as one", () => {
    expect(asked({ messages: [{ role: "user", content: "x".repeat(396) }] }).input).toBe(100);
    expect(asked({ input: "\u{6771}".repeat(100) }).input).toBe(75);
    const url = `data:image/png;base64,${"A".repeat(1_000_000)}`;
    expect(asked({ input: [{ type: "input_image", image_url: url }] }).input).toBeLessThan(1100);
    expect(asked({}).input).toBe(0);
  });

  it("may limit the length of the answer", () => {
    expect(asked({ max_tokens: 5 }).output).toBe(5);
    expect(asked({ max_output_tokens: 6 }).output).toBe(6);
    expect(asked({ max_tokens: 5, max_completion_tokens: 7 }).output).toBe(7);
    expect([asked({ max_tokens: "5" }).output, asked({ max_tokens: -1 }).output]).toEqual([undefined, undefined]);
    // What is held for it is added and taken away again: that must leave nothing.
    const { output = 0 } = asked({ max_tokens: 1e300 });
    expect(7 + output - output).toBe(7);
  });

  it("is the same for another model but for that", () => {
    expect(
      JSON.parse(
        asked({ a: [1, { b: null }] })
          .withModel("m")
          .toString(),
      ),
    ).toEqual({ model: "m", a: [1, { b: null }] });
  });
});
