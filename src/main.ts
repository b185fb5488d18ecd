#!/usr/bin/env node
import { runFastPath } from "./cli/fast-path.js";

// No top-level await: the build makes CommonJS of this file, which Node starts faster.
const argv = process.argv.slice(2);
if (!runFastPath(argv)) void import("./cli/process.js").then(({ runProcess }) => runProcess(argv));
