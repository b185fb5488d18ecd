import { sh } from "../../quote.js";
import type { Shell } from "../process.js";
import { jobName } from "./allowed.js";
import { converse, newNonce } from "./conversation.js";
import library from "./library/follow.sh?raw";
import { absent, type Operation } from "./operation.js";

export interface FollowOptions {
  /** Gets what the job wrote, stdout and stderr as they came, and the offset behind it. */
  onOutput?: (bytes: Buffer, offset: number) => void;
  /** Where in the log to begin: the offset seen last, to carry on after a lost connection. */
  offset?: number;
  signal?: AbortSignal;
}

export interface JobEnd {
  /** `gone`: the host knows no such job, because it was forgotten or the host was booted. */
  result: "success" | "failed" | "timeout" | "killed" | "gone";
  /** Its exit code, when it had one. */
  code?: number;
  /** The length of its log. */
  offset: number;
}

// The script tells something several times a second, also when the job writes nothing.
const silence = 60_000;

/** Waits, in one exec, until a job that `converge` started has ended. Stopping to wait does not stop the job. */
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

/** No job of that name, running or ended: its unit and its log are gone. */
export const jobGone = (name: string): Operation[] => [absent({ unit: unitOf(name) }), absent({ path: logOf(name) })];

/** The unit a job runs as. */
export const unitOf = (name: string): string => `clm-job-${jobName(name)}.service`;
const logOf = (name: string): string => `/run/clm/jobs/${jobName(name)}.log`;

/** From systemd's own words: `ActiveState=failed Result=exit-code ExecMainCode=1 ExecMainStatus=3`. */
function endFrom(properties: string[]): Omit<JobEnd, "offset"> {
  const is = Object.fromEntries(properties.map((property) => property.split("=")));
  if (is.ActiveState === undefined || is.ActiveState === "inactive") return { result: "gone" };
  if (is.Result === "timeout") return { result: "timeout" };
  // To systemd a service that SIGTERM or SIGHUP ended has ended well; 1 (CLD_EXITED) says that it ended by itself.
  if (is.ExecMainCode !== "1") return { result: "killed" };
  return { result: is.Result === "success" ? "success" : "failed", code: Number(is.ExecMainStatus) };
}
