import { command, flag, optional, required, rest, text, type Verbs } from "../command.js";

export const list = command({
  path: "registry list",
  summary: "list the versions that can be installed",
  description: `A version can be installed when it is pinned: where its installer is, how long it is, and its SHA-256. Pins are built in, or
come from a file of yours in the manifests folder of the config directory. A stand-in only behaves like the real one; it comes
with a lab.`,
  formats: ["table", "json", "yaml", "name"],
  examples: [{ run: "clm registry list" }, { run: "clm registry list -o json" }],
  load: () => import("./list.js"),
});

export const show = command({
  path: "registry show",
  summary: "show what a version needs and what it can do",
  args: {
    type: required("the agent type", "agent-type"),
    version: optional("the version; the default one when left out", "version"),
  },
  formats: ["table", "json", "yaml"],
  examples: [{ run: "clm registry show hermes" }, { run: "clm registry show hermes 2026.5.7 -o json" }],
  load: () => import("./show.js"),
});

export const verify = command({
  path: "registry verify",
  summary: "compare the installers with what was pinned",
  description: `Fetches each installer that is not kept on this machine yet, hashes the copy of each that is, and compares size and
SHA-256 with the pin. Ends with 30 when bytes differ, and with 10 when one could not be fetched.`,
  args: {
    type: optional("the agent type", "agent-type"),
    versions: rest("only these versions", "version"),
  },
  options: { cached: flag("only what is kept on this machine; fetch nothing") },
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm registry verify" },
    { run: "clm registry verify hermes 2026.7.1" },
    { run: "clm registry verify --cached" },
  ],
  load: () => import("./verify.js"),
});

export const pin = command({
  path: "registry pin",
  summary: "pin a version that clm does not bring",
  description: `Fetches the installer of that version, shows its size and SHA-256, asks, and writes the pin to your own manifest
(manifests/TYPE.yaml in the config directory). Compare the digest with one from somewhere else before you agree: from then on
these bytes, and no others, are run on hosts. A pin that exists is given other bytes only with --replace.`,
  args: { type: required("the agent type", "agent-type"), version: required("the version to pin", "version") },
  options: {
    url: text("URL", "where the installer is, when it is not where those of other versions are"),
    installerFile: text("PATH", "a copy of the installer, for a machine without internet", { completes: "file" }),
    commit: text("SHA", "the commit of the release, 40 hex digits"),
    reports: text("NAME", "what the version calls itself, as 0.18.0"),
    replace: flag("give a pin that exists other bytes"),
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm registry pin hermes 2026.8.1 --reports 0.19.0" },
    { run: "clm registry pin hermes 2026.8.1 --reports 0.19.0 --installer-file ./install.sh --yes" },
    {
      run: "clm registry pin hermes 2026.7.1 --replace --commit 7c1a029553d87c43ecff8a3821336bc95872213b",
      note: "after a tag was moved",
    },
  ],
  load: () => import("./pin.js"),
});

export const registry: Verbs = {
  commands: [list, show, verify, pin],
};
