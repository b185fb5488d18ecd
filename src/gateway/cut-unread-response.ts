import type { ServerResponse } from "node:http";

/** Whoever does not read keeps an answer in memory, after its request has ended: the connection is cut when nothing moves. */
export function cutUnreadResponse(response: ServerResponse, timeout: number): void {
  const { socket } = response;
  // Mostly the system has taken all of it by now.
  if (!socket || socket.writableLength === 0) return;
  let left = socket.writableLength;
  const timer = setInterval(() => {
    if (socket.writableLength >= left) socket.destroy();
    left = socket.writableLength;
  }, timeout).unref();
  response.once("close", () => clearInterval(timer));
}
