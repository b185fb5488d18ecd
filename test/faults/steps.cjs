// Loaded into clm before its own code (`node --require`): counts its externally visible steps, a
// state file replaced, an audit line written, a line printed. At the chosen step it kills clm as `kill -9` would,
// or cuts every connection. clm itself has no code for this.
const fs = require("node:fs");
const net = require("node:net");

const { CLM_STEPS_TO: list, CLM_STEP: chosen, CLM_STEP_DO: action } = process.env;
const sockets = new Set();
const steps = [];

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  sockets.add(this);
  return connect.apply(this, args);
};

function step(name) {
  if (name === "") return;
  steps.push(name);
  if (String(steps.length) !== chosen) return;
  if (action === "kill") process.kill(process.pid, "SIGKILL");
  else for (const socket of sockets) socket.destroy();
}

function before(object, method, nameOf) {
  const real = object[method];
  object[method] = function (...args) {
    step(nameOf(...args));
    return real.apply(this, args);
  };
}

const plain = (path) => String(path).replace(/^.*\//, "");
before(fs, "renameSync", (_, to) => `replace ${plain(to)}`);
before(fs, "writeSync", () => "write a line");
// With --debug the SSH library logs every packet; those that start something on the host count.
before(process.stderr, "write", (text) => {
  const line = String(text).trim();
  return line.startsWith("debug") && !/Outbound: Sending CHANNEL_(OPEN|REQUEST|EOF)/.test(line)
    ? ""
    : `say ${line.slice(0, 80)}`;
});

if (list) process.on("exit", () => fs.writeFileSync(list, JSON.stringify(steps)));
