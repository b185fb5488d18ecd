import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Fault } from "../../errors.js";

export interface LocalListener {
  port: number;
  /** Stops listening and disconnects every client. */
  close(): Promise<void>;
}

export interface PortChoice {
  /** Required port. */
  port?: number | undefined;
  /** Used when it is free and no port is required. */
  preferred: number;
  /** The command to suggest when the port cannot be used. */
  next: string;
}

/** Only 127.0.0.1: clients get the rights of clm's user. Sockets are paused, so that no byte is lost meanwhile. */
export async function listenOnLoopback(
  { port, preferred, next }: PortChoice,
  take: (socket: Socket) => void,
): Promise<LocalListener> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    take(socket);
  });
  try {
    if (port !== undefined) await listen(server, port);
    else await listen(server, preferred).catch(() => listen(server, 0));
  } catch (error) {
    throw unusablePort(port ?? 0, next, error as NodeJS.ErrnoException);
  }
  // Accept errors such as too many open files: the system tells the client.
  server.on("error", () => {});
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        for (const socket of sockets) socket.resetAndDestroy();
      }),
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen({ host: "127.0.0.1", port, exclusive: true });
  await once(server, "listening");
}

function unusablePort(port: number, next: string, error: NodeJS.ErrnoException): Fault {
  const taken = error.code === "EADDRINUSE";
  return new Fault(taken ? "in-use" : "bad-input", `local port ${port} cannot be used`, {
    why: taken
      ? "another program listens there; without --port, clm picks a free one"
      : error.code === "EACCES"
        ? "only root may listen on ports below 1024; choose another --port"
        : error.message,
    next,
    flag: "--port",
    data: { port },
    cause: error,
  });
}
