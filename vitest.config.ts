import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"] } },
      {
        test: {
          name: "lab",
          include: ["test/{lab,faults,docs}/**/*.test.ts"],
          globalSetup: "test/lab/setup.ts",
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // The files share the hosts, and break them.
          fileParallelism: false,
        },
      },
    ],
  },
});
