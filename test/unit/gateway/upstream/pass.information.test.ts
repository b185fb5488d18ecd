import { expect, it } from "vitest";
import { betweens } from "../between.js";
import { talk } from "../test-gateway.js";

const { between } = betweens();

it.each([
  ["switches to another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
  ["says 101 and not to what", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ["only answers in advance", "HTTP/1.1 102 Processing\r\n\r\n".repeat(50)],
])("an agent that %s has not answered", async (_, text) => {
  const { gateway } = await between((response) => void response.socket?.write(text));
  const answer = await talk(gateway);
  expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([502, "upstream_error"]);
});
