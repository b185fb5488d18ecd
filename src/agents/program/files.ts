import { dirname, join } from "node:path";
import { Fault } from "../../errors.js";
import { sh } from "../../quote.js";
import { EnvDraft } from "../files/dotenv.js";
import { useOf } from "../manifest/secret-names.js";
import reader from "../plan/env-reader.sh?raw";
import type { ManagedFile } from "../plan/managed-file.js";
import type { Answers, ResolvedAgent } from "../plan/resolved-agent.js";

export function files(agent: ResolvedAgent, answers: Answers): ManagedFile[] {
  const { paths } = agent;
  const entries = environment(agent, answers);
  return [
    { id: "env", path: paths.env, mode: 0o600, restarts: true, content: { merge: "variables", entries } },
    {
      id: "launcher",
      path: paths.launcher,
      mode: 0o700,
      restarts: true,
      directories: [paths.code],
      content: { merge: "whole", text: launcher(agent) },
    },
    ...answers.uploads.map(({ name, content, executable }): ManagedFile => {
      const path = join(paths.code, name);
      return {
        id: `file:${name}`,
        path,
        mode: executable ? 0o700 : 0o600,
        restarts: true,
        directories: [paths.code, ...directoriesBetween(paths.code, path)],
        content: { merge: "whole", text: content },
      };
    }),
  ];
}

function environment(agent: ResolvedAgent, { extra }: Answers): EnvDraft["entries"] {
  const env = new EnvDraft();
  env.put("PORT", String(agent.port), `program '${agent.name}' itself`);
  for (const each of (agent.settings.environment ?? "").split(",").filter(Boolean)) {
    const at = each.indexOf("=");
    const name = each.slice(0, at);
    if (useOf(agent.manifest, name).kind === "own")
      throw new Fault("bad-input", `${name} cannot be set: it is managed by clm`, {
        why: "clm or the service sets it",
      });
    env.put(name, each.slice(at + 1), "the setting environment");
  }
  for (const [name, secret] of Object.entries(extra)) env.put(name, secret, `your own ${name}`);
  return env.entries;
}

/** Reads `.env` with the program's own rights: systemd would do so as root. */
function launcher({ paths, settings }: ResolvedAgent): string {
  const readEnv = reader.replace(/^#.*\n/gm, "").trimEnd();
  const command = ["/bin/sh", "-c", readEnv, "sh", paths.env, "/bin/sh", "-c", settings.command ?? ""];
  return [
    "#!/bin/sh",
    "# clm writes this file; change it with clm agent configure.",
    sh`cd ${paths.code} || exit 78`,
    sh`exec ${command}`,
    "",
  ].join("\n");
}

/** The directories of `path` below `base`, outermost first. */
function directoriesBetween(base: string, path: string): string[] {
  const directory = dirname(path);
  return directory === base ? [] : [...directoriesBetween(base, directory), directory];
}
