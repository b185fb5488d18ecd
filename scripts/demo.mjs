// npm run demo: a real host on this machine, added to a fleet, checked, asked, and gone again. Nothing is left behind.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";

ensureModules();
if (!ensureRoot("npm run demo") || !ensurePackages()) process.exit(7);
must("node", ["scripts/build.mjs"]);

const home = mkdtempSync(join(tmpdir(), "clm-demo-"));
const env = { ...process.env, CLM_HOME: home };
let failed = 0;

function show(line, ...args) {
  console.log(`\n$ clm ${line}`);
  const { status } = spawnSync("node", ["dist/clm.js", ...args], { stdio: "inherit", env });
  failed ||= status ?? 1;
}

const lab = ["--name", "demo"];
process.on("SIGINT", () => {}); // the child gets it too and ends; the lab is taken down below
try {
  show("lab up --name demo", "lab", "up", ...lab);
  if (!failed) {
    show("host list", "host", "list");
    show("host check demo-1", "host", "check", "demo-1");
    show("host exec demo-1 -- uname -a", "host", "exec", "demo-1", "--", "uname", "-a");
    show(
      "host exec demo-1 --sudo -- systemctl is-system-running",
      "host",
      "exec",
      "demo-1",
      "--sudo",
      "--",
      "systemctl",
      "is-system-running",
    );
    show("audit --verify", "audit", "--verify");
  }
} finally {
  show("lab down --name demo", "lab", "down", ...lab);
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed);
