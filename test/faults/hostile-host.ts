import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Writable } from "node:stream";
import { type Connection as Login, Server, type ServerChannel, utils } from "ssh2";
import { newPrivateKey } from "../../src/flows/keypair.js";
import { type HostKey, hostKeyFrom } from "../../src/remote/host-keys/key.js";

/** The misbehaviour of a host from one moment of a connection on; before that it is correct. */
export interface Stage {
  name: string;
  /** Whether a login succeeds. */
  connects: boolean;
  /** It sends endlessly instead of hanging. */
  floods?: boolean;
  start: (address: string) => Promise<Listening>;
}

export interface HostileHost {
  key: HostKey;
  address: string;
  port: number;
  /** The number of connections. */
  connections(): number;
  /** The number of commands requested. */
  commands(): number;
  close(): Promise<void>;
}

type Listening = HostileHost;

/** Every stage of a connection at which a host can hang or flood. */
export const stages: Stage[] = [
  { name: "accepts the connection and says nothing", connects: false, start: raw(() => {}) },
  {
    name: "sends lines before its banner without end",
    connects: false,
    floods: true,
    start: raw((socket) => endlessly(socket, "no banner yet\r\n")),
  },
  {
    name: "sends a banner that does not end",
    connects: false,
    floods: true,
    start: raw((socket) => endlessly(socket, "SSH-2.0-".padEnd(64, "x"))),
  },
  {
    name: "says its banner and nothing more",
    connects: false,
    start: raw((socket) => void socket.write("SSH-2.0-hostile\r\n")),
  },
  { name: "never judges a login", connects: false, start: ssh({ authentication: "ignore" }) },
  { name: "never answers a request for a channel", connects: true, start: ssh({ session: "ignore" }) },
  { name: "never answers an exec request", connects: true, start: ssh({ exec: "ignore" }) },
  { name: "starts a command and sends nothing", connects: true, start: ssh({ command: () => {} }) },
  {
    name: "lets sudo answer and then sends nothing",
    connects: true,
    start: ssh({ command: (channel, words) => void channel.write(proofIn(words)) }),
  },
  {
    name: "sends stdout without end before sudo answers",
    connects: true,
    floods: true,
    start: ssh({ command: (channel) => endlessly(channel, "no proof\n") }),
  },
  {
    name: "sends stdout without end",
    connects: true,
    floods: true,
    start: ssh({ command: (channel, words) => endlessly(channel, "endless\n", proofIn(words)) }),
  },
  {
    name: "sends stdout without end and without a newline",
    connects: true,
    floods: true,
    start: ssh({ command: (channel, words) => endlessly(channel, "endless ", proofIn(words)) }),
  },
  {
    name: "sends stderr without end",
    connects: true,
    floods: true,
    start: ssh({
      command: (channel, words) => {
        channel.write(proofIn(words));
        endlessly(channel.stderr as unknown as Writable, "endless\n");
      },
    }),
  },
  {
    name: "reports an exit and never closes the channel",
    connects: true,
    start: ssh({
      command: (channel, words) => {
        channel.write(proofIn(words));
        channel.exit(0);
      },
    }),
  },
];

export const stageNamed = (name: string): Stage => {
  const found = stages.find((stage) => stage.name === name);
  if (!found) throw new Error(`there is no stage called '${name}'`);
  return found;
};

/** Starts a host that misbehaves at that stage. */
export const startHostileHost = (stage: Stage, address = "127.0.0.1"): Promise<HostileHost> => stage.start(address);

/** A host that opens channels and answers every forward request as given here. */
export const startForwardingHost = (forward: (accept: () => ServerChannel) => void): Promise<HostileHost> =>
  ssh({ forward })("127.0.0.1");

/** The line in the command that proves to clm that sudo worked. */
const proofIn = (command: string): string => {
  const [, proof] = /echo (clm-[0-9a-f]+);/.exec(command) ?? [];
  return proof === undefined ? "" : `${proof}\n`;
};

/** Writes as long as the other side reads. */
function endlessly(stream: Writable, text: string, first = ""): void {
  const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
  let gone = false;
  stream.on("close", () => {
    gone = true;
  });
  stream.on("error", () => {
    gone = true;
  });
  const go = () => {
    for (let turn = 0; turn < 16 && !gone; turn++) if (!stream.write(chunk)) return;
    if (!gone) setImmediate(go);
  };
  stream.on("drain", () => setImmediate(go));
  if (first !== "") stream.write(first);
  go();
}

function raw(act: (socket: Socket) => void): Stage["start"] {
  return async (address) => {
    const open = new Set<Socket>();
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => open.delete(socket));
      socket.resume();
      act(socket);
    });
    server.listen(0, address);
    await once(server, "listening");
    return {
      key: keyOf(newPrivateKey("hostile")),
      address,
      port: (server.address() as AddressInfo).port,
      connections: () => connections,
      commands: () => 0,
      async close() {
        const closed = once(server, "close");
        server.close();
        for (const socket of open) socket.destroy();
        await closed;
      },
    };
  };
}

interface Behaviour {
  authentication?: "ignore";
  session?: "ignore";
  exec?: "ignore";
  command?: (channel: ServerChannel, words: string) => void;
  forward?: (accept: () => ServerChannel) => void;
}

function ssh(behaviour: Behaviour): Stage["start"] {
  return async (address) => {
    const privateKey = newPrivateKey("hostile");
    const open = new Set<Login>();
    let [connections, commands] = [0, 0];
    const server = new Server({ hostKeys: [privateKey] }, (client) => {
      connections++;
      open.add(client);
      client.on("error", () => {});
      client.on("close", () => open.delete(client));
      client.on("authentication", (login) => {
        if (behaviour.authentication !== "ignore") login.accept();
      });
      client.on("session", (accept) => {
        if (behaviour.session === "ignore") return;
        accept().on("exec", (run, _reject, { command }) => {
          commands++;
          if (behaviour.exec === "ignore") return;
          const channel = run();
          channel.on("error", () => {});
          behaviour.command?.(channel, command);
        });
      });
      client.on("tcpip", (accept) => behaviour.forward?.(accept));
    });
    server.listen(0, address);
    await once(server, "listening");
    return {
      key: keyOf(privateKey),
      address,
      port: (server.address() as AddressInfo).port,
      connections: () => connections,
      commands: () => commands,
      async close() {
        const closed = once(server, "close");
        server.close();
        for (const client of open) client.end();
        await closed;
      },
    };
  };
}

function keyOf(privateKey: string): HostKey {
  const parsed = utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  return hostKeyFrom(parsed.getPublicSSH());
}
