import { expect, it } from "vitest";
import { curlLine } from "../../../../src/flows/tunnel/curl-line.js";

const url = "http://127.0.0.1:8642/v1/models";

it.each([
  [{}, {}, `clm agent key ada --header | curl -sH @- ${url}`],
  [{}, { ref: "wolf/ada" }, `clm agent key wolf/ada --header | curl -sH @- ${url}`],
  [{}, { configDir: "/my home" }, `clm agent key ada --header --config-dir '/my home' | curl -sH @- ${url}`],
  [{ http_proxy: "http://proxy:3128" }, {}, `clm agent key ada --header | curl -sH @- --noproxy 127.0.0.1 ${url}`],
  [{ ALL_PROXY: "socks5://proxy" }, {}, `clm agent key ada --header | curl -sH @- --noproxy 127.0.0.1 ${url}`],
  [{ http_proxy: "", no_proxy: "x" }, {}, `clm agent key ada --header | curl -sH @- ${url}`],
])("%j %j", (env, more, line) => {
  expect(curlLine({ ref: "ada", url, env, ...more })).toBe(line);
});
