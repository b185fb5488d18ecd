// How npm test and npm run demo stop: their child processes end first, then their labs go down.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
const groups = new Set();
let stopping = false;

/**
 * Starts a program in its own process group. Ctrl-C then reaches only this script, which signals the whole group once:
 * npm forwards signals as well, and a second one makes clm exit at once.
 */
export function start(program, args, options = {}) {
  if (stopping) throw new Error(`stopped; ${program} is not started any more`);
  const child = spawn(program, args, { ...options, detached: true });
  const group = child.pid;
  if (group === undefined) return child;
  groups.add(group);
  child.once("exit", () => {
    if (!exists(group)) groups.delete(group);
  });
  return child;
}

/** Runs a program and returns its exit code and, where stdout is a pipe, its output. */
export function run(program, args, { input, ...options } = {}) {
  return ended(start(program, args, options), input);
}

/**
 * Does the work, cleans up, and returns the exit code. A signal ends the programs that the work started, and the rest of
 * the work is not waited for; further signals are ignored. `cleanUp` gets the signal, if there was one.
 */
export async function stoppable(work, cleanUp) {
  const stopped = new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve(signal));
  });
  // A closed terminal cannot be written to.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const working = work();
  working.catch(() => {});
  let signal;
  try {
    const end = await Promise.race([working.then((code) => ({ code })), stopped.then((signal) => ({ signal }))]);
    signal = end.signal;
    if (signal === undefined) return end.code;
    stopping = true;
    console.error(`\nstopped by ${signal}; ending what was started …`);
    await endGroups();
    return 128 + constants.signals[signal];
  } finally {
    await cleanUp(signal);
  }
}

/** Takes down every lab below a folder; reports and returns whether that worked. */
export async function takeLabsDown(folder, clm) {
  const failed = [];
  for (const labs of labDirectories(folder)) {
    const env = { ...process.env, CLM_LAB_DIR: labs, CLM_HOME: join(folder, "home-of-down") };
    const { status } = await outsideOfGroups("node", [clm, "lab", "down", "--all"], { env, stdio: "ignore" });
    if (status !== 0) failed.push(labs);
  }
  for (const labs of failed) console.error(`labs are left; run: CLM_LAB_DIR=${labs} clm lab down --all`);
  return failed.length === 0;
}

/** Runs a clean-up program, even while stopping, in its own process group so that Ctrl-C does not reach it. */
export function outsideOfGroups(program, args, options) {
  return ended(spawn(program, args, { ...options, detached: true, timeout: 120_000, killSignal: "SIGKILL" }));
}

// A lab is a directory with lab.json, at most a few levels down. The files of hosts are not searched.
function labDirectories(folder, depth = 4) {
  const entries = readdirSync(folder, { withFileTypes: true });
  if (entries.some(({ name }) => name === "lab.json")) return [dirname(folder)];
  if (depth === 0) return [];
  const below = entries.filter((entry) => entry.isDirectory());
  return [...new Set(below.flatMap(({ name }) => labDirectories(join(folder, name), depth - 1)))];
}

function ended(child, input) {
  let stdout = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk) => {
    stdout += chunk;
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ status: code ?? 128 + constants.signals[signal], stdout }));
  });
}

async function endGroups() {
  await sent("SIGTERM", 10_000);
  await sent("SIGKILL", 5_000);
}

/** Sends a signal to all process groups, and waits until they are empty, or for the given time. */
async function sent(signal, longest) {
  const until = Date.now() + longest;
  for (const group of groups) kill(group, signal);
  while (Date.now() < until && [...groups].some(exists)) await sleep(50);
}

const exists = (group) => kill(group, 0);

function kill(group, signal) {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
