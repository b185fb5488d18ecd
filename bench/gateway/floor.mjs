// The cost of SSH in Node by itself: forwards every connection through one SSH connection, without parsing HTTP. Reads
// { host, username, identity, port } as JSON on stdin and prints the port it listens on.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Client } from "ssh2";

const { host, username, identity, port } = JSON.parse(readFileSync(0, "utf8"));
const client = new Client();
client.on("ready", () => {
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
    client.forwardOut("127.0.0.1", 0, "127.0.0.1", port, (error, stream) => {
      if (error) return void socket.destroy();
      for (const each of [socket, stream]) each.on("error", () => {});
      socket.pipe(stream).pipe(socket);
      socket.on("close", () => stream.destroy());
      stream.on("close", () => socket.destroy());
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
});
client.on("error", (error) => {
  console.error(error.message);
  process.exit(1);
});
// The host is a lab of this run, so its key is not checked. The cipher is the one that clm negotiates.
client.connect({
  host,
  username,
  privateKey: readFileSync(identity),
  algorithms: { cipher: ["aes128-gcm@openssh.com"] },
});
client.setNoDelay(true);
