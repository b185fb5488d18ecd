import { command, flag, optional, required, rest, text } from "../command.js";

export const list = command({
  path: "registry list",
  summary: "list the versions that can be installed",
  description: `A version can be installed when it is pinned: the URL, size and SHA-256 of its installer are known.
Pins are built in, or come from your own files in the manifests folder of the config directory. A stand-in is a test
double of the agent; it comes with a lab.`,
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm registry list", "clm registry list -o json"],
  load: () => import("./show.js"),
});

export const show = command({
  path: "registry show",
  summary: "show the requirements and features of a version",
  args: {
    type: required("the agent type", "agent-type"),
    version: optional("the version (default: the newest pinned one)", "version"),
  },
  formats: ["table", "json", "yaml"],
  examples: ["clm registry show hermes", "clm registry show hermes 2026.5.7 -o json"],
  load: () => import("./show.js"),
});

export const verify = command({
  path: "registry verify",
  summary: "compare the installers with their pins",
  description: `Downloads each installer that is not cached on this machine, hashes the cached ones, and compares size
and SHA-256 with the pin. Exits with 30 when an installer differs, and with 10 when one could not be downloaded.`,
  args: {
    type: optional("the agent type", "agent-type"),
    versions: rest("only these versions", "version"),
  },
  options: { cached: flag("only cached installers; download nothing") },
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm registry verify", "clm registry verify hermes 2026.7.1", "clm registry verify --cached"],
  load: () => import("./verify.js"),
});

export const pin = command({
  path: "registry pin",
  summary: "pin a version that is not built in",
  description: `Downloads the installer of that version, shows its size and SHA-256, asks, and writes the pin to your
own manifest (manifests/TYPE.yaml in the config directory). Compare the digest with a second source before you
confirm: from then on exactly these bytes run on your hosts. An existing pin is changed only with --replace.`,
  args: { type: required("the agent type", "agent-type"), version: required("the version to pin", "version") },
  options: {
    url: text("URL", "URL of the installer (default: derived from the other versions)"),
    installerFile: text("PATH", "use this copy of the installer instead of downloading it", { completes: "file" }),
    commit: text("SHA", "the commit of the release, 40 hex digits"),
    reports: text("NAME", "the version that the program reports, such as 0.18.0"),
    replace: flag("replace an existing pin"),
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    "clm registry pin hermes 2026.8.1 --reports 0.19.0",
    "clm registry pin hermes 2026.8.1 --reports 0.19.0 --installer-file ./install.sh --yes",
    "clm registry pin hermes 2026.7.1 --replace --commit 7c1a029553d87c43ecff8a3821336bc95872213b   # after the tag was moved",
  ],
  load: () => import("./pin.js"),
});

export const registry = {
  commands: [list, show, verify, pin],
};
