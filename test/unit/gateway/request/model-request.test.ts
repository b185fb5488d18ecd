import { describe, expect, it } from "vitest";
import { parseModelRequest } from "../../../../src/gateway/request/model-request.js";

const input = (said: object): number => parseModelRequest(Buffer.from(JSON.stringify({ model: "ada", ...said }))).input;
const saying = (content: unknown) => input({ messages: [{ content }] });

describe("the size of messages in tokens", () => {
  const long = "A".repeat(400_000);
  const image = `data:image/png;base64,${long}`;
  const one = saying([{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]);
  const many = saying(long);

  const images: [what: string, content: unknown][] = [
    ["of chat completions", [{ type: "image_url", image_url: { url: image } }]],
    ["of responses", [{ type: "input_image", image_url: image }]],
  ];
  it.each(images)("an image %s is one however large it is", (_what, content) => {
    expect(saying(content)).toBeLessThan(one + 10);
    expect(saying(content)).toBeGreaterThan(500);
  });

  const texts: [what: string, content: unknown][] = [
    ["a text that begins as one", image],
    ["a text in a part", [{ type: "text", text: image }]],
    ["what is no image in the place of one", [{ type: "image_url", image_url: { url: `data:text/plain,${long}` } }]],
    ["a text beside one", [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" }, text: long }]],
    ["a part of another kind", [{ type: "text", image_url: image }]],
  ];
  it.each(texts)("%s counts by its length", (_what, content) => expect(saying(content)).toBeGreaterThanOrEqual(many));
});
