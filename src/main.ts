#!/usr/bin/env node
import { answeredAtOnce } from "./cli/at-once.js";

// The quick answers load nothing else: start-up is a feature. No `await` out here, so that the build can make CommonJS
// of it, which Node starts faster.
const argv = process.argv.slice(2);
if (!answeredAtOnce(argv)) void import("./cli/live.js").then(({ live }) => live(argv));
