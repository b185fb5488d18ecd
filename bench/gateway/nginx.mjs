import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "../../scripts/stoppable.mjs";
import { smoke } from "../size.mjs";

/** The nginx binary: unpacked, because installing the package starts it; undefined when it is not available. */
function binary(folder) {
  const installed = "/usr/sbin/nginx";
  if (existsSync(installed)) return installed;
  if (smoke) return undefined;
  const into = join(folder, "nginx-package");
  mkdirSync(into, { recursive: true });
  const does = (program, args) => spawnSync(program, args, { cwd: into, stdio: "ignore" }).status === 0;
  const download = () => does("apt-get", ["download", "-qq", "nginx"]);
  if (!download() && !(does("apt-get", ["update", "-qq"]) && download())) return undefined;
  const file = readdirSync(into).find((name) => name.endsWith(".deb"));
  const unpacked = join(into, "usr/sbin/nginx");
  if (!file || !does("dpkg", ["-x", file, "."]) || !does(unpacked, ["-v"])) return undefined;
  return unpacked;
}

/** Starts a plain reverse proxy with keep-alive connections and its usual access log. */
export function startNginx(folder, { port, to }) {
  const program = binary(folder);
  if (!program) return undefined;
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `  ${name}_temp_path ${join(folder, `nginx-${name}`)};`,
  );
  const settings = `daemon off;
user root;
worker_processes auto;
pid ${join(folder, "nginx.pid")};
error_log stderr error;
events { worker_connections 512; }
http {
${temporary.join("\n")}
  access_log ${join(folder, "nginx.log")};
  keepalive_requests 10000000;
  upstream agent {
    server 127.0.0.1:${to};
    keepalive 32;
    keepalive_requests 10000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://agent;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
  const file = join(folder, "nginx.conf");
  writeFileSync(file, settings);
  return start(program, ["-e", "stderr", "-p", folder, "-c", file], { stdio: ["ignore", "ignore", "inherit"] });
}
