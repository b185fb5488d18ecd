import { type ChildProcess, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { paths } from "../../src/lab/names.js";
import { inHost, program, type Result, runProgram } from "../lab/clm.js";
import { type Planted, soughtIn } from "./planted.js";

// Searches for secrets in the places where they must not be, on a host and on this machine.

const stop = "/run/clm-watcher-stop";

/** Reads the arguments and environment of every process of a host in a loop, except in `units`, which may have secrets. */
export const watchProcesses = (host: string, units: string[]): Promise<Result> =>
  runProgram(process.execPath, [program, "lab", "exec", host, "--", "python3", "-c", watcher, ...units]);

export const stopWatching = (host: string): Promise<string> => inHost(host, `touch ${stop}`);

const watcher = `import os, sys, time
if os.path.exists("${stop}"):
    os.remove("${stop}")
seen = set()
while not os.path.exists("${stop}"):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(unit in open(f"/proc/{pid}/cgroup").read() for unit in sys.argv[1:]):
                continue
            seen.update(open(f"/proc/{pid}/{name}", "rb").read() for name in ("cmdline", "environ"))
        except OSError:
            continue
    time.sleep(0.004)
sys.stdout.buffer.write(b"\\n".join(seen))
`;

/** Records the arguments of a program and its children while it runs. */
export const watchArguments =
  (seen: Set<string>) =>
  (child: ChildProcess): void => {
    const look = (pid: number): void => {
      try {
        seen.add(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "));
        const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
        for (const each of children.split(" ").filter(Boolean)) look(Number(each));
      } catch {
        // It has ended.
      }
    };
    const timer = setInterval(() => child.pid && look(child.pid), 5);
    child.on("close", () => clearInterval(timer));
  };

/** Runs a script as root on the host, with secrets on its stdin. */
export async function onHost(host: string, script: string, input: string): Promise<string> {
  const words = [program, "lab", "exec", host, "--", "/bin/sh", "-c", script];
  const { code, stdout, stderr } = await runProgram(process.execPath, words, {}, input);
  if (code !== 0) throw new Error(`${script}\nended with ${code}: ${stderr}`);
  return stdout;
}

/** The output of a script on the host that searches for secrets. */
const foundOnHost = (host: string, secrets: Planted[], script: string): Promise<string> =>
  onHost(host, `export LC_ALL=C\n${script}\ntrue`, `${[...soughtIn(secrets).keys()].join("\n")}\n`);

const where = "/etc /home /root /run /tmp /var /dev/shm /opt /srv /usr/local /boot";
/** The files of the host that contain one of them. */
export const filesOnHost = async (host: string, secrets: Planted[]): Promise<string[]> =>
  (await foundOnHost(host, secrets, `grep -rlasFf - ${where}`)).split("\n").filter(Boolean).sort();
/** Matching journal entries, with their recorded command lines. */
export const journalOf = (host: string, secrets: Planted[]): Promise<string> =>
  foundOnHost(
    host,
    secrets,
    // stdin is a socket, which cannot be opened twice; a pipe from cat can.
    "cat | { exec 3<&0; journalctl --no-pager --all -o export </dev/null | grep -aoFf /dev/fd/3 | sort -u; }",
  );

/** Every file below a directory with its bytes; archives unpacked. */
export const filesBelow = (directory: string): [string, string][] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [
      path,
      (path.endsWith(".gz") ? gunzipSync(readFileSync(path)) : readFileSync(path)).toString("utf8"),
    ]);

/** The temporary files of this machine, newer than `since`, that contain one of them. */
export function temporaryFiles(secrets: Planted[], since: string, except: string[]): string[] {
  // The disks of lab hosts are files of this machine, too.
  const beside = [paths().labs, paths().cache, ...except];
  const pruned = beside.flatMap((path) => ["-path", path, "-o"]).slice(0, -1);
  const newer = ["-newer", since, "-type", "f", "-size", "-64M", "-print0"];
  const directories = ["/tmp", "/var/tmp", "/dev/shm", "/run"];
  if (!tmpdir().startsWith("/tmp")) directories.push(tmpdir());
  const found = spawnSync("find", [...directories, "-xdev", "(", ...pruned, ")", "-prune", "-o", ...newer], {
    encoding: "utf8",
  });
  const files = found.stdout.split("\0").filter(Boolean);
  const input = `${[...soughtIn(secrets).keys()].join("\n")}\n`;
  const { stdout } = spawnSync("grep", ["-lasFf", "-", ...files], {
    input,
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C" },
  });
  return stdout.split("\n").filter(Boolean);
}
