import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Fault } from "../../errors.js";

/** A port of this machine's loopback that somebody may connect to. */
export interface Listening {
  port: number;
  /** Nobody can connect any more, and whoever was connected is cut off. */
  close(): Promise<void>;
}

export interface Wanted {
  /** This one and no other. */
  port?: number | undefined;
  /** Else this one, when it is free. */
  rather: number;
  /** The command that takes another one, told when the port cannot be had. */
  otherwise: string;
}

/**
 * Listens on 127.0.0.1 and nowhere else: what comes here is sent on with the rights of who has the key, and nobody from
 * outside may try. A socket is handed over unread, so that nothing of it is lost while it waits.
 */
export async function listening(
  { port, rather, otherwise }: Wanted,
  take: (socket: Socket) => void,
): Promise<Listening> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    take(socket);
  });
  try {
    if (port !== undefined) await listen(server, port);
    else await listen(server, rather).catch(() => listen(server, 0));
  } catch (error) {
    throw notHad(port ?? 0, otherwise, error as NodeJS.ErrnoException);
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        for (const socket of sockets) socket.resetAndDestroy();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((listens, failed) => {
    server.once("error", failed);
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      server.off("error", failed);
      // Too many open files, say: whoever wanted to connect is told by the system.
      server.on("error", () => {});
      listens();
    });
  });
}

function notHad(port: number, otherwise: string, error: NodeJS.ErrnoException): Fault {
  const taken = error.code === "EADDRINUSE";
  return new Fault(taken ? "in-use" : "bad-input", `port ${port} of this machine cannot be used`, {
    why: taken
      ? "another program listens there; without --port any free one is taken"
      : error.code === "EACCES"
        ? "only root may listen there; choose a --port from 1024 on"
        : error.message,
    next: otherwise,
    data: { flag: "--port", port },
    cause: error,
  });
}
