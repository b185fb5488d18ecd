import { createReadStream, statSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { inPlaces } from "../../../agents/hermes/codex/runtime.js";
import { type Change, change } from "../../../agents/plan/change.js";
import { Fault } from "../../../errors.js";
import type { Process } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import { hostAndName } from "../../../state/agents.js";
import { lastLines } from "../../../text/last-lines.js";
import { own } from "../../../text/own-property.js";
import { withProgress } from "../../with-progress.js";
import { commandInSandbox, notOurs, runAsAgent } from "../run-as-agent.js";
import script from "./install.sh?raw";
import { type Package, type Pin, packageFor, pinFor } from "./package.js";
import type { Scene } from "./scene.js";

export type { Package } from "./package.js";

// A slow line carries a hundred megabytes in this time.
const timeout = 1800;

export interface Installed {
  changes: Change[];
  /** What its launcher led to before; nothing when there was none. */
  launcher?: string | undefined;
}

/** Brings a pinned Codex to the agent's user. The host needs no registry, and nothing of it is run as root. */
export async function installCodex(scene: Scene, wanted: Package): Promise<Installed> {
  const { session, agent, root, resolved, type } = scene;
  const { stdout } = await run(root, "uname -m", { signal: session.signal, timeout: 30_000 });
  const pin = pinFor(type, wanted, stdout.trim());
  const place = inPlaces(resolved, type.place);
  const action = {
    verb: "agent runtime install",
    target: hostAndName(agent),
    summary: `install Codex ${pin.codex} in ${place} on ${agent.host.name}`,
  };
  const before = await session.gate.pass(action, async () => {
    const { ui } = session;
    const path = await withProgress(ui, `have Codex ${pin.codex} here`, () => packageFor(session, type, pin, wanted));
    return withProgress(ui, `bring it to ${agent.host.name}`, (progress) =>
      send(scene, pin, path, (sent, size) => progress.update(`${inMegabytes(sent)} of ${inMegabytes(size)} MB`)),
    );
  });
  const changes = [change(`codex ${pin.codex} in ${place}`, "missing")];
  return { changes, launcher: before || undefined };
}

/** The launcher leads again to what it did before. */
export async function switchTo(scene: Scene, target: string): Promise<void> {
  const [answer] = await there(scene, "switch", [target]);
  if (answer !== "switched") throw new Fault("remote-failed", `${target} is not on ${scene.agent.host.name} any more`);
}

/** Other versions that clm brought before go, when this one has proven itself. */
export async function keepOnly(scene: Scene, { version = scene.type.default }: Package): Promise<void> {
  await there(scene, "prune", [version]);
}

/** One of the script's actions, as the agent's user. */
function there(scene: Scene, action: string, words: string[]): Promise<string[]> {
  const { session, agent } = scene;
  const { place, launcher } = whereIn(scene);
  return runAsAgent(session, agent, { script, words: [action, place, launcher, ...words], about: place });
}

/** Where it is, and where it is called from. */
const whereIn = ({ resolved, type }: Scene) => ({
  place: inPlaces(resolved, type.place),
  launcher: inPlaces(resolved, type.launcher),
});

const inMegabytes = (bytes: number): number => Math.round(bytes / 1e6);

async function send(
  scene: Scene,
  { codex, program, integrity }: Pin,
  path: string,
  tell: (sent: number, size: number) => void,
): Promise<string> {
  const { session, agent, resolved } = scene;
  const { place, launcher } = whereIn(scene);
  const digest = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  const { size } = statSync(path);
  const words = ["install", place, launcher, codex, program, digest, String(size)];
  const root = (await session.pool.connect(agent.host)).as("root");
  // The host ends it after `patience`; one that does not is given up on a little later.
  const late = AbortSignal.timeout((timeout + 60) * 1000);
  const signal = AbortSignal.any([session.signal, late]);
  const command = commandInSandbox(agent, resolved, { script, words, seconds: timeout });
  const process = await root.spawn(command, { signal });
  let sent = 0;
  const file = createReadStream(path).on("data", (chunk) => {
    sent += chunk.length;
    tell(sent, size);
  });
  // It is there, and whole. Who hears nothing more from here lets it be.
  const onReady = () => process.stdin.end("go\n");
  const sending = pipeline(file, process.stdin, { end: false }).catch(() => {});
  const [said] = await Promise.all([hear(process, onReady), sending]);
  session.signal.throwIfAborted();
  const answer = said.stdout.trim().split("\n").at(-1) ?? "";
  if (answer.startsWith("installed")) return answer.replace(/^installed ?/, "");
  if (answer === "no-user" || answer === "stranger") throw notOurs(agent, answer);
  if (answer === "foreign") {
    throw new Fault(
      "already-exists",
      `${launcher} on ${agent.host.name} was not put there by clm; nothing was changed`,
      {
        why: "it may be a Codex of your own",
        next: `clm agent exec ${agent.ref} -- mv ${launcher} ${launcher}.own`,
      },
    );
  }
  const full = /No space left on device|Disk quota exceeded/.test(said.stderr);
  throw new Fault(full ? "host-full" : "remote-failed", `Codex ${codex} could not be put on ${agent.host.name}`, {
    why: own(troubles, answer) ?? lastLines(said.stderr, 3),
    next: `clm host check ${agent.host.name}`,
  });
}

const troubles: Record<string, string> = {
  damaged: "what arrived is not what was sent",
  busy: "another one is being put there",
};

// Characters: a few words of its own, and what tar complained of.
const most = 65_536;

/** All that it says; when it says that it is ready, somebody is told. */
async function hear(
  { stdout, stderr, done }: Process,
  onReady: () => void,
): Promise<{ stdout: string; stderr: string }> {
  const said = { stdout: "", stderr: "" };
  const listen = async (name: keyof typeof said, stream: Process["stdout"]) => {
    for await (const chunk of stream.setEncoding("utf8")) {
      const wasReady = isReady(said.stdout);
      said[name] = (said[name] + chunk).slice(-most);
      if (!wasReady && isReady(said.stdout)) onReady();
    }
  };
  await Promise.all([listen("stdout", stdout), listen("stderr", stderr), done]);
  return said;
}

const isReady = (said: string): boolean => /^ready$/m.test(said);
