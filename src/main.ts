#!/usr/bin/env node
import { runFastPath } from "./cli/fast-path.js";

// The quick answers load nothing else: start-up is a feature. No `await` out here, so that the build can make CommonJS
// of it, which Node starts faster.
const argv = process.argv.slice(2);
if (!runFastPath(argv)) void import("./cli/process.js").then(({ runProcess }) => runProcess(argv));
