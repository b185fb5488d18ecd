"""Replaces the agent and answers as fast as Python can: the stand-in agent would take most of the measured time."""

import asyncio
import json
import sys

USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Hello there, how are you?"}, "finish_reason": "stop"}
COMPLETION = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "bench"}
BODY = json.dumps({**COMPLETION, "choices": [CHOICE], "usage": USAGE}).encode()
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def event(delta, **more):
    said = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **more}]}
    return b"data: %s\n\n" % json.dumps(said).encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = HEAD + chunk(event({"content": "Hello"}))
LAST = chunk(event({}, finish_reason="stop") + b"data: [DONE]\n\n") + b"0\r\n\r\n"
PAUSE = 0.05


class Answering(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.rest = b""

    def data_received(self, data):
        self.rest += data
        while True:
            end = self.rest.find(b"\r\n\r\n")
            if end < 0:
                return
            at = self.rest[:end].lower().find(b"\r\ncontent-length:")
            length = int(self.rest[at + 17 : end].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.rest) < end + 4 + length:
                return
            body, self.rest = self.rest[end + 4 : end + 4 + length], self.rest[end + 4 + length :]
            if b'"stream":true' in body:
                self.transport.write(FIRST)
                asyncio.get_running_loop().call_later(PAUSE, self.transport.write, LAST)
            else:
                self.transport.write(PLAIN)


async def serve(port):
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(serve(int(sys.argv[1])))
    except KeyboardInterrupt:
        pass
