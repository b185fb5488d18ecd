import { converge } from "../../src/remote/operations/converge.js";
import { connectTo } from "./connect.js";
import { sampleOperations } from "./sample-operations.js";

// Applies the sample operations and kills itself after the given number of results.
const [home = "", name = "", after = ""] = process.argv.slice(2);
const connection = await connectTo(home, name);
let results = 0;
await converge(connection.as("root"), sampleOperations, {
  mode: "apply",
  onResult() {
    if (++results === Number(after)) process.kill(process.pid, "SIGKILL");
  },
});
