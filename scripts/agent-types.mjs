// The module `clm:agent-types`: every folder of src/agents that has a type.ts, with the manifest of the same name. A new
// agent type is a folder and a manifest; no list has to be edited.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const id = "clm:agent-types";

function moduleText(root) {
  const agents = join(root, "src/agents");
  const types = readdirSync(agents).filter((name) => existsSync(join(agents, name, "type.ts")));
  return [
    ...types.map(
      (name, at) => `import manifest${at} from ${JSON.stringify(join(root, `manifests/${name}.yaml?raw`))};`,
    ),
    "export default {",
    ...types.map((name, at) => {
      const type = JSON.stringify(join(agents, name, "type.ts"));
      return `  ${JSON.stringify(name)}: { manifest: manifest${at}, load: () => import(${type}).then((each) => each.default) },`;
    }),
    "};",
  ].join("\n");
}

/** For esbuild. */
export const agentTypes = {
  name: "agent-types",
  setup(builder) {
    builder.onResolve({ filter: /^clm:agent-types$/ }, ({ path }) => ({ path, namespace: "agent-types" }));
    builder.onLoad({ filter: /.*/, namespace: "agent-types" }, () => ({
      contents: moduleText(process.cwd()),
      loader: "js",
      resolveDir: process.cwd(),
    }));
  },
};

/** For Vite, which runs the tests. */
export const agentTypesInTests = {
  name: "agent-types",
  resolveId: (path) => (path === id ? `\0${id}` : undefined),
  load: (path) => (path === `\0${id}` ? moduleText(process.cwd()) : undefined),
};
