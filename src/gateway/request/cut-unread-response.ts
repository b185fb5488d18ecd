import type { ServerResponse } from "node:http";

/** An answer that its caller does not read stays in memory after the request has ended: cuts the connection when it stalls. */
export function cutUnreadResponse(response: ServerResponse, timeout: number): void {
  const { socket } = response;
  // Usually the kernel has taken all of it by now.
  if (!socket || socket.writableLength === 0) return;
  let left = socket.writableLength;
  const timer = setInterval(() => {
    if (socket.writableLength >= left) socket.destroy();
    left = socket.writableLength;
  }, timeout).unref();
  response.once("close", () => clearInterval(timer));
}
