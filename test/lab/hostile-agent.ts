import { inHost } from "./clm.js";

/** A process of the agent's user, as root sees it on the host. */
export interface Process {
  pid: number;
  group: string;
  command: string;
}

/** One run of a program that the hostile agent replaced. */
export interface Run {
  program: string;
  noNewPrivileges: boolean;
  /** It saw the host's own /tmp. */
  realTmp: boolean;
  group: string;
}

const marker = "/tmp/clm-hostile-marker";

/**
 * Turns an installed agent into a hostile one: its launcher and the Python of its venv, all of them files it owns, write down in what
 * surroundings they were run, leave a daemon behind, and only then do what they should. What clm runs of them, and where, is in `runs`.
 */
export function hostileAgent(host: string, name: string) {
  const home = `/home/${name}`;
  const log = `${home}/hostile.log`;
  const here = (script: string) => inHost(host, script);
  const trap = (program: string) => `cat >${program}.trap <<'END'
#!/bin/sh
# Nothing here may fail, or wait: who runs it must get the usual answer.
nnp=$(sed -n 's/^NoNewPrivs:[^0-9]*//p' /proc/self/status)
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -e ${marker} ]; then tmp=real; else tmp=own; fi
echo "\${nnp:-?} $tmp \${group:-?} \${0##*/}" >>${log}
(trap '' TERM HUP; setsid sleep 7654321 </dev/null >/dev/null 2>&1 &)
exec ${program}.own "$@"
END
[ -e ${program}.own ] || [ -L ${program}.own ] || mv ${program} ${program}.own
chmod 0755 ${program}.trap && mv ${program}.trap ${program} && chown -h ${name}: ${program}`;

  return {
    /** Replaces its programs. */
    async arm() {
      const python = `${home}/.hermes/code/venv/bin/python`;
      // The real Python is started by its name in the venv: a link elsewhere would be another Python.
      const venv = `[ -e ${python}.own ] || sed -i 's|^#!${python}$|#!${python}.own|' ${home}/.hermes/code/venv/bin/hermes`;
      await here(`: >${marker}; ${venv}\n${trap(`${home}/.local/bin/hermes`)}\n${trap(python)}`);
    },
    /** Clears the recorded runs, and ends the daemons they left. */
    async forget() {
      await here(`: >${log}; chown ${name}: ${log}; pkill -KILL -u ${name} -f 'sleep 7654321' || true`);
    },
    /** The runs since then. */
    async runs(): Promise<Run[]> {
      const lines = (await here(`cat ${log}`)).trim().split("\n");
      return lines.flatMap((line) => {
        const [nnp, tmp, group = "", program = ""] = line.split(" ");
        return nnp ? [{ program, noNewPrivileges: nnp === "1", realTmp: tmp === "real", group }] : [];
      });
    },
    /** Processes of its user outside the agent's units. One look in seven misses a process that forks forever. */
    async strays(): Promise<Process[]> {
      const look = `for p in $(pgrep -u ${name}); do echo "$p $(sed -n 's/^0:://p' /proc/$p/cgroup) $(tr '\\0' ' ' </proc/$p/cmdline)"; done`;
      const text = await here(`for n in $(seq 20); do ${look}; done 2>/dev/null | sort -u`);
      return text
        .trim()
        .split("\n")
        .flatMap((line) => {
          const [pid = "", group = "", ...command] = line.split(" ");
          const own = group.startsWith(`/system.slice/hermes-${name}`);
          // An ended process has no control group.
          return pid && group && !own ? [{ pid: Number(pid), group, command: command.join(" ").trim() }] : [];
        });
    },
    /** Starts a process outside of every unit, like one that escaped the sandbox. Returns its pid. */
    async escape(): Promise<number> {
      const start = `setpriv --reuid ${name} --regid ${name} --clear-groups sh -c 'setsid sleep 7654321 </dev/null >/dev/null 2>&1 & echo $!'`;
      return Number(await here(`cd / && ${start}`));
    },
    /**
     * Starts a process that is never the same one for long: it forks, the parent ends, the child goes on. It heeds no SIGTERM, and kills
     * whatever else its user runs.
     */
    async forkChain(): Promise<void> {
      const chain =
        "import os,signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n" +
        "  try: os.kill(-1, 9)\n  except OSError: pass\n" +
        "  if os.fork(): os._exit(0)\n  os.setsid()\n  time.sleep(0.0005)";
      const command = `setpriv --reuid ${name} --regid ${name} --clear-groups python3 -c "${chain}"`;
      const seen = `for n in $(seq 100); do pgrep -u ${name} python3 >/dev/null && exit; sleep 0.05; done; exit 1`;
      await here(`cd / && ${command} </dev/null >/dev/null 2>&1 &\nsleep 0.5; ${seen}`);
    },
    async disarm() {
      await here(`rm -f ${marker}; pkill -KILL -u ${name} || true`);
    },
  };
}
