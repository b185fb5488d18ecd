// A file of its own to be loaded late. `import("yaml")` itself works in Node but not in the bundle: the package is
// CommonJS, and a part that esbuild splits off has nothing but its `default`.
export { parseDocument, stringify } from "yaml";
