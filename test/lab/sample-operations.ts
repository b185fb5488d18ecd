import { absent, dir, file, job, type Operation, run, unit, user } from "../../src/remote/operations/operation.js";
import { Secret } from "../../src/secret.js";

const home = "/home/ada";
const hermes = `${home}/.hermes`;
const owner = "ada";

const service = `[Unit]
Description=A stand-in for an agent
[Service]
User=ada
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
`;

/** Twenty operations of every kind that needs no network, about as many as installing an agent. */
export const sampleOperations: Operation[] = [
  user({ name: owner, home, shell: "/usr/sbin/nologin" }),
  dir(hermes, { owner, mode: 0o700 }),
  dir(`${hermes}/memories`, { owner, mode: 0o700 }),
  dir(`${hermes}/logs`, { owner, mode: 0o750 }),
  dir(`${hermes}/it's a "test"`, { owner, mode: 0o700 }),
  file(`${hermes}/.env`, { owner, mode: 0o600, content: new Secret("KEY='it''s'\nOTHER=$(id)\n"), secret: true }),
  file(`${hermes}/config.yaml`, { owner, mode: 0o600, content: "model:\n  default: echo\n" }),
  file(`${hermes}/SOUL.md`, { owner, mode: 0o644, content: "Ich bin Ada. ünïcödé\n" }),
  file(`${hermes}/empty`, { owner, mode: 0o600, content: "" }),
  file(`${hermes}/binary`, {
    owner,
    mode: 0o600,
    content: Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256)),
  }),
  file(`${hermes}/memories/MEMORY.md`, { owner, mode: 0o600, content: "remember\n" }),
  file(`${hermes}/memories/USER.md`, { owner, mode: 0o600, content: "the user\n" }),
  file("/etc/tmpfiles.d/ada.conf", { owner: "root", mode: 0o644, content: "# nothing\n" }),
  run({ as: owner, argv: ["touch", `${hermes}/ran`], creates: `${hermes}/ran` }),
  run({ script: `echo "by $(id -un)" > /etc/ada-ran`, creates: "/etc/ada-ran" }),
  unit("ada.service", { content: service, enabled: true, state: "started" }),
  unit("ada-idle.service", { content: service, enabled: false, state: "stopped" }),
  dir("/var/lib/ada", { owner, mode: 0o755 }),
  job({
    name: "ada",
    as: owner,
    argv: ["/bin/sh", "-c", `sleep 0.2; touch ${hermes}/job`],
    cwd: home,
    timeout: 60_000,
    creates: `${hermes}/job`,
  }),
  absent({ path: "/srv/unwanted" }),
];

/** Removes all of it, whatever state it is in; `unwanted` is put there, so that the last operation has something to do. */
export const clean = `
systemctl disable --now ada.service ada-idle.service clm-job-ada.service >/dev/null 2>&1
systemctl reset-failed clm-job-ada.service >/dev/null 2>&1
rm -rf /etc/systemd/system/ada.service /etc/systemd/system/ada-idle.service /etc/tmpfiles.d/ada.conf /etc/ada-ran /var/lib/ada
systemctl daemon-reload
pkill -KILL -u ada 2>/dev/null
userdel -r ada >/dev/null 2>&1
rm -rf /home/ada /run/clm/jobs/ada.log
touch /srv/unwanted
`;

/** The end state as text: owners, modes, contents, and running units. */
export const treeScript = `
for n in 1 2 3 4 5 6 7 8 9 10; do test -e ${hermes}/job && break; sleep 0.2; done
find /home/ada /etc/tmpfiles.d/ada.conf /etc/ada-ran /etc/systemd/system/ada* /etc/systemd/system/*/ada* /var/lib/ada -printf '%M %u %g %p %l\\n' | sort
find /home/ada -type f -exec sha256sum {} + | sort -k2
getent passwd ada | cut -d: -f1,6,7
getent shadow ada | cut -d: -f2 | cut -c1
systemctl is-enabled ada.service ada-idle.service
systemctl is-active ada.service ada-idle.service
true
`;
