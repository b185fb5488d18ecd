import { spawn } from "node:child_process";
import { constants } from "node:os";
import { Fault } from "../errors.js";
import { sh } from "../quote.js";
import { members } from "./cgroup.js";
import { attempt, type CommandOptions, type CommandResult, searchPath } from "./command.js";
import { mustBeRoot } from "./machine.js";
import { type HostNames, isLabName, labNames, splitHostName } from "./names.js";
import { readRecord } from "./record.js";

/** Runs a program on our streams as root in a host, without SSH, which may not answer. Returns the exit code. */
export async function enter(name: string, argv: string[]): Promise<number> {
  mustBeRoot(sh`clm lab exec ${name} -- ${argv}`);
  const args = await enterArguments(await findHost(name), argv);
  const child = spawn("nsenter", args, { stdio: "inherit", env: { ...process.env, PATH: searchPath } });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    // As in a shell.
    child.on("close", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

export async function ask(host: HostNames, argv: string[], options: CommandOptions): Promise<CommandResult> {
  return attempt("nsenter", await enterArguments(host, argv), options);
}

async function findHost(name: string): Promise<HostNames> {
  const parts = splitHostName(name);
  const record = parts && isLabName(parts.lab) ? await readRecord(parts.lab) : undefined;
  if (parts && record?.hosts.some(({ number }) => number === parts.number))
    return labNames(parts.lab).host(parts.number);
  throw new Fault("not-found", `there is no lab host '${name}'`, { next: "clm lab status" });
}

async function enterArguments(host: HostNames, argv: string[]): Promise<string[]> {
  const leader = (await members(host.cgroup)).find(({ role }) => role === "leader");
  if (!leader) throw new Fault("unreachable", `lab host ${host.name} is not running`, { next: "clm lab status" });
  return [
    ...`--target ${leader.pid} --all --root --wd --`.split(" "),
    // Without this machine's environment.
    ...`env -i HOME=/root USER=root LANG=C.UTF-8 TERM=${process.env.TERM ?? "dumb"}`.split(" "),
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ...argv,
  ];
}
