import { afterAll, describe, expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { newRecord, resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { probeHost, probeRelease } from "../../../../../src/flows/agent/preflight/preflight-probe.js";
import type { Agent } from "../../../../../src/state/agents.js";
import { type LocalShell, localShells } from "../../../remote/operations/local-shell.js";

const { shells, close } = localShells();
afterAll(close);

const { manifest } = await loadType("/nonexistent", "hermes");
const options = { name: "clm-nobody", version: manifest.default, port: 8642, mark: "0badcafe", relaxed: false };
const record = newRecord(manifest, options);
const known = { name: options.name, host: { name: "wolf-i", agents: {} }, record, ref: options.name };
const agent = resolvedAgent(manifest, known as unknown as Agent);
const ports = { range: manifest.api.port, recorded: [] };
const { signal } = new AbortController();

describe.each(shells)("the preflight probe in %s", (shell: LocalShell) => {
  it("answers about an agent that is not there", async () => {
    const observation = await probeHost(shell, { agent, ports, reach: [], packages: true }, signal);
    expect(observation).toMatchObject({ home: false, state: "inactive", job: "inactive", reach: {} });
    expect(observation).not.toHaveProperty("account");
    expect(observation).not.toHaveProperty("unit");
  });

  it("reads no release in an account that clm did not make", async () => {
    expect(await probeRelease(shell, { agent }, signal)).toEqual({ version: "", commit: "" });
  });
});
