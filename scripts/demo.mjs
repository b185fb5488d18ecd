// npm run demo: a real host on this machine, added to a fleet, checked, asked, and gone again. Nothing is left behind.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";

ensureModules();
if (!ensureRoot("npm run demo") || !ensurePackages()) process.exit(7);
must("node", ["scripts/build.mjs"]);

const home = mkdtempSync(join(tmpdir(), "clm-demo-"));
const env = { ...process.env, CLM_HOME: home };
// A name of its own: a lab of yours must not be taken for this one, and taken down.
const lab = `demo-${randomBytes(2).toString("hex")}`;
const host = `${lab}-1`;
let failed = 0;

function show(...args) {
  console.log(`\n$ clm ${args.join(" ")}`);
  const { status } = spawnSync("node", ["dist/clm.js", ...args], { stdio: "inherit", env });
  failed ||= status ?? 1;
}

process.on("SIGINT", () => {}); // the child gets it too and ends; the lab is taken down below
try {
  show("lab", "up", "--name", lab);
  if (!failed) {
    show("host", "list");
    show("host", "check", host);
    show("host", "exec", host, "--", "uname", "-a");
    show("host", "exec", host, "--sudo", "--", "systemctl", "is-system-running");
    show("audit", "--verify");
  }
} finally {
  show("lab", "down", "--name", lab);
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed);
