import { inHost } from "./clm.js";

/** Another account of a host that takes a port whenever its owner releases it. */
export interface Squatter {
  /** How often it had the port, and how many connections it accepted there. */
  taken(): Promise<{ times: number; connections: number }>;
  /** Every byte that it received. */
  heard(): Promise<string>;
  stop(): Promise<void>;
}

export interface Squatting {
  port: number;
  /** Seconds to keep the port each time; then it releases the port, but keeps accepted connections. */
  hold?: number;
}

/** Resolves when it waits for the port. One per host. */
export async function squatOn(host: string, { port, hold = 0.7 }: Squatting): Promise<Squatter> {
  const directory = "/run/port-squatter";
  await inHost(
    host,
    `cat >/usr/local/lib/port-squatter.py <<'END'
${program}
END
systemd-run -q --unit port-squatter --uid nobody -p RuntimeDirectory=port-squatter -- \
  /usr/bin/python3 /usr/local/lib/port-squatter.py ${port} ${hold}
for n in $(seq 200); do [ -e ${directory}/events ] && exit 0; sleep 0.05; done; exit 1`,
  );
  const count = (word: string) => inHost(host, `grep -c ${word} ${directory}/events || true`).then(Number);
  return {
    taken: async () => ({ times: await count("taken"), connections: await count("connection") }),
    heard: () => inHost(host, `cat ${directory}/heard`),
    stop: async () => void (await inHost(host, "systemctl stop port-squatter; rm -f /usr/local/lib/port-squatter.py")),
  };
}

// It answers every request, so that a client that trusts it continues.
const program = `import os, socket, sys, threading, time
port, hold = int(sys.argv[1]), float(sys.argv[2])
directory = os.environ["RUNTIME_DIRECTORY"]
heard = open(directory + "/heard", "ab", 0)
events = open(directory + "/events", "a", 1)
body = b'{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}'
answer = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body)
kept = []

def listen():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError:
        listener.close()
        return None
    return listener

def hear(client):
    events.write("connection\\n")
    try:
        while True:
            data = client.recv(65536)
            if not data:
                return
            heard.write(data)
            client.sendall(answer)
    except OSError:
        pass

def owner_is_back():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

while True:
    listener = listen()
    if listener is None:
        time.sleep(0.0005)
        continue
    events.write("taken\\n")
    listener.settimeout(0.05)
    until = time.monotonic() + hold
    while time.monotonic() < until:
        try:
            client, _ = listener.accept()
        except OSError:
            continue
        client.settimeout(None)
        kept.append(client)
        threading.Thread(target=hear, args=(client,), daemon=True).start()
    listener.close()
    while not owner_is_back():
        time.sleep(0.02)
`;
