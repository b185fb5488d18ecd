import OpenAI from "openai";
import { expect, it } from "vitest";
import { betweens } from "../between.js";
import { ask, completion, type Responder, served, type TestGateway } from "../test-gateway.js";

// On the Codex runtime Hermes streams no text: the agent is asked for a whole answer, and the caller gets a stream.

const { between } = betweens();
const agents = [served({ streams: false })];

const text = "Codex has said so.";
const message = { id: "msg_1", type: "message", role: "assistant", status: "completed" };
const part = { type: "output_text", text, annotations: [] };
const usage = { input_tokens: 40, output_tokens: 6, total_tokens: 46 };
const response = { id: "resp_1", object: "response", created_at: 1, model: "ada", status: "completed" };
const whole = { ...response, output: [{ ...message, content: [part] }], usage };
/** As the real one: a stream is one without text. */
const answering: Responder = (up, { url, body }) => {
  if (JSON.parse(body).stream) {
    up.writeHead(200, { "content-type": "text/event-stream" });
    up.end(
      `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7}}\n\ndata: [DONE]\n\n`,
    );
    return;
  }
  up.writeHead(200, { "content-type": "application/json", "x-hermes-session-id": "s-1" });
  up.end(url === "/v1/responses" ? JSON.stringify(whole) : completion(text));
};
const clientOf = ({ url }: TestGateway) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "good", maxRetries: 0 });
const chat = { model: "ada", messages: [{ role: "user" as const, content: "hi" }], stream: true as const };

it("a chat that is asked for as a stream comes as one", async () => {
  const { gateway } = await between(answering, { agents });
  const chunks = [];
  for await (const chunk of await clientOf(gateway).chat.completions.create(chat)) chunks.push(chunk);
  expect(chunks.map(({ choices: [choice] }) => choice?.delta.content ?? "").join("")).toBe(text);
  expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: "stop" }], usage: { total_tokens: 12 } });
  expect(gateway.lines).toMatchObject([
    { call: { streamed: true }, ending: { status: 200, tokens: { input: 7, output: 5 } } },
  ]);
});

it("so does a response, by the openai library's own helper", async () => {
  const { gateway } = await between(answering, { agents });
  const stream = clientOf(gateway).responses.stream({ model: "ada", input: "hi" });
  const types: string[] = [];
  stream.on("event", ({ type }) => types.push(type.replace("response.", "")));
  const done = await stream.finalResponse();
  expect([done.output_text, done.usage?.output_tokens]).toEqual([text, 6]);
  expect(types).toEqual([
    ...["created", "output_item.added", "content_part.added", "output_text.delta", "output_text.done"],
    ...["content_part.done", "output_item.done", "completed"],
  ]);
});

it("a request without stream gets a plain answer", async () => {
  const { gateway, up } = await between(answering, { agents });
  const body = JSON.stringify({ ...chat, stream: false });
  const answer = await ask(gateway, "/v1/chat/completions", { body });
  expect([answer.text, up.asked[0]?.body]).toEqual([completion(text), body]);
});

it("a waiting caller gets keepalives, and a later failure is an event", async () => {
  let fails = false;
  const slow: Responder = (up, asked) => {
    setTimeout(() => {
      if (!fails) return answering(up, asked);
      up.writeHead(200, { "content-type": "application/json" });
      up.end(completion("API call failed after 3 retries: no"));
    }, 300);
  };
  const { gateway } = await between(slow, { agents, parts: { keepalive: 50 } });
  const body = JSON.stringify(chat);
  const answer = await ask(gateway, "/v1/chat/completions", { body });
  expect(answer.text.startsWith(": keepalive\n\n")).toBe(true);
  expect([answer.status, answer.whole, answer.text.endsWith("data: [DONE]\n\n")]).toEqual([200, true, true]);
  fails = true;
  const failed = await ask(gateway, "/v1/chat/completions", { body });
  expect([failed.status, failed.text.includes("[DONE]"), failed.text.includes(`"code":"agent_failed"`)]).toEqual([
    200,
    false,
    true,
  ]);
  expect(gateway.lines.map(({ ending: { status, code } }) => [status, code])).toEqual([
    [200, undefined],
    [502, "agent_failed"],
  ]);
});

it("a failure before any sign of life has its own status", async () => {
  const { gateway } = await between(
    (up) => {
      up.writeHead(200, { "content-type": "application/json" });
      up.end(completion("API call failed after 3 retries: no"));
    },
    { agents },
  );
  expect((await ask(gateway, "/v1/chat/completions", { body: JSON.stringify(chat) })).status).toBe(502);
});
