import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atMost, clm, race } from "../measure.mjs";

/** The start-up time of every command, compared with that of an empty Node program. */
export async function measure() {
  const home = mkdtempSync(join(tmpdir(), "clm-bench-"));
  const asked = [["--version"], ["--help"], ["host", "list"]];
  const limits = [1.15, 1.3, 1.2];
  try {
    const commands = [["node", "-e", "0"], ...asked.map((args) => [...clm, ...args])];
    const [floor, ...times] = race(commands, 31, { CLM_HOME: home });
    return times.map((ms, at) => atMost(`clm ${asked[at].join(" ")}`, ms, "node -e 0", floor, limits[at]));
  } finally {
    rmSync(home, { recursive: true });
  }
}
