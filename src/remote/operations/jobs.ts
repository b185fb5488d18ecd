import { sh } from "../../quote.js";
import type { Shell } from "../process.js";
import { newNonce } from "../stdin-script.js";
import { jobName } from "./allowed.js";
import { converse } from "./conversation.js";
import library from "./library/follow.sh?raw";
import { absent, type Operation } from "./operation.js";

export interface FollowOptions {
  /** Gets stdout and stderr of the job as they came, and the offset after them. */
  onOutput?: (bytes: Buffer, offset: number) => void;
  /** Where in the log to begin: the last offset, to resume after a lost connection. */
  offset?: number;
  signal?: AbortSignal;
}

export interface JobEnd {
  /** `gone`: the host knows no such job, because it was removed or the host rebooted. */
  result: "success" | "failed" | "timeout" | "killed" | "gone";
  code?: number;
  /** The length of its log. */
  offset: number;
}

// The script writes several times a second, even when the job writes nothing.
const silence = 60_000;

/** Waits, in one exec, for the end of a job that `converge` started. An abort does not stop the job. */
export async function followJob(shell: Shell, name: string, options: FollowOptions = {}): Promise<JobEnd> {
  let offset = options.offset ?? 0;
  const nonce = newNonce();
  const script = [library, sh`nonce=${nonce} unit=${unitOf(name)} log=${logOf(name)} offset=${offset}`, "follow", ""];
  const host = await converse(shell, nonce, script.join("\n"), options.signal);
  for (;;) {
    host.setTimeLimit(silence);
    const [word, ...words] = (await host.next()).split(" ");
    if (word === "log") {
      const bytes = Buffer.from(words.join(""), "base64");
      offset += bytes.length;
      options.onOutput?.(bytes, offset);
    }
    if (word === "end") {
      await host.hangUp();
      return { ...endFrom(words), offset };
    }
  }
}

/** Removes a job, running or ended, with its unit and its log. */
export const jobGone = (name: string): Operation[] => [absent({ unit: unitOf(name) }), absent({ path: logOf(name) })];

export const unitOf = (name: string): string => `clm-job-${jobName(name)}.service`;
const logOf = (name: string): string => `/run/clm/jobs/${jobName(name)}.log`;

/** From systemd's properties: `ActiveState=failed Result=exit-code ExecMainCode=1 ExecMainStatus=3`. */
function endFrom(properties: string[]): Omit<JobEnd, "offset"> {
  const is = Object.fromEntries(properties.map((property) => property.split("=")));
  if (is.ActiveState === undefined || is.ActiveState === "inactive") return { result: "gone" };
  if (is.Result === "timeout") return { result: "timeout" };
  // systemd counts a service ended by SIGTERM or SIGHUP as successful; 1 (CLD_EXITED) means that it exited by itself.
  if (is.ExecMainCode !== "1") return { result: "killed" };
  return { result: is.Result === "success" ? "success" : "failed", code: Number(is.ExecMainStatus) };
}
