import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { agentTypesInTests } from "./scripts/agent-types.mjs";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

export default defineConfig({
  plugins: [agentTypesInTests],
  define: { __CLM_VERSION__: JSON.stringify(version), __CLM_BUILD__: '"tests"' },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          sequence: { groupOrder: 0 },
          // They take milliseconds on an idle machine, but labs start beside them.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "lab",
          include: ["test/{lab,faults,docs}/**/*.test.ts"],
          globalSetup: "test/lab/setup.ts",
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // The files share the hosts and break them.
          fileParallelism: false,
          // After the unit tests, so that timeouts on hosts do not wait for them.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
