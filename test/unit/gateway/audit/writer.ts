import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { call, ending } from "./calls.js";

/** A separate process that writes to the log in a folder: it can be killed, lack permissions, or have a size limit. */
const [mode = "", dir = ""] = process.argv.slice(2);
let time = Date.now();
const log = await RequestLog.open(dir, { maxBytes: 20_000, now: () => new Date(time) });
let n = 0;
const write = () => log.write(call(++n), ending());
const say = (text: string) => process.stdout.write(`${text}\n`);
const told = (work: () => Promise<unknown>) =>
  work().then(
    () => say("written"),
    ({ code, message }) => say(`${code} ${message}`),
  );

if (mode === "churn") {
  for (;;) {
    await Promise.all([write(), write(), write()]);
    say(`acknowledged ${n}`);
  }
} else {
  const limit = (bytes: string) =>
    execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:unlimited`]);
  await told(write);
  if (mode === "rights") chmodSync(dir, 0);
  else limit("600");
  for (let tries = 0; tries < 3; tries++) await told(write);
  if (mode === "rights") chmodSync(dir, 0o700);
  else limit("unlimited");
  time += 1000;
  await told(write);
  await log.close();
}
