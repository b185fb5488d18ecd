# The status of an agent beyond its proofs. Called after the probes of the account, the unit and the port (proof.sh).

# CPU time of the control group, and memory. Called twice: the difference is the load.
probe_usage() {
  [ "${pid:-0}" != 0 ] || return 0
  find_group "/proc/$pid"
  group=/sys/fs/cgroup$group
  read -r up _ </proc/uptime
  while read -r name value; do
    [ "$name" != usage_usec ] || say "$1" "${up%.*}${up#*.} $value"
  done 2>/dev/null <"$group/cpu.stat"
  [ "$1" = cpu.first ] || return 0
  # Without memory accounting, the sum of its processes.
  read -r bytes 2>/dev/null <"$group/memory.current" ||
    add_memory
  say memory "$bytes"
}

# Sets `bytes` to the resident memory of all processes of the group.
add_memory() {
  bytes=0
  while read -r process; do
    while read -r name value _; do
      case $name in VmRSS:) bytes=$((bytes + value * 1024)); break ;; esac
    done 2>/dev/null <"/proc/$process/status"
  done 2>/dev/null <"$group/cgroup.procs"
}

# find_group /proc/PID: sets `group` to the control group of the process.
find_group() {
  group=''
  while IFS= read -r line; do
    case $line in 0::*) group=${line#0::} ;; esac
  done 2>/dev/null <"$1/cgroup"
}

probe_health() {
  [ "$port_is_own" = yes ] || return 0
  request health "$health" | curl -q --config - 2>/dev/null
}

# probe_reach [NAME ADDRESS]...: starts a request without a key to each model provider, in parallel. NAME is empty for
# the agent's main provider.
probe_reach() {
  reach_jobs=''
  while [ $# -gt 1 ]; do
    curl -q --config - 2>/dev/null <<END &
url = "$2"
silent
output = "/dev/null"
write-out = "${prefix}reach-status${1:+.$1}=%{http_code}\n"
max-time = 5
proto = "=http,https"
END
    reach_jobs="$reach_jobs $!${1:+/$1}"
    shift 2
  done
}

# Waits for these requests. The exit code of curl explains a missing HTTP status.
probe_reach_results() {
  for each in $reach_jobs; do
    wait "${each%%/*}"
    code=$?
    case $each in */*) say "reach.${each#*/}" "$code" ;; *) say reach "$code" ;; esac
  done
}

# probe_runtime PROGRAM KEY: the runtime that config.yaml selects, and the version of the program found on `search`,
# from its package.json. The program belongs to the agent, so it is not run.
probe_runtime() {
  [ -n "$uid" ] || return 0
  say runtime "$(contents "$config" | sed -n "/^[[:space:]]*#/d; s/.*[{,[:space:]]$2:[[:space:]]*[\"']\{0,1\}\([A-Za-z_]*\).*/\1/p" | head -n 1)"
  say runtime-version "$(as_agent_within 10 /bin/sh -c "$package_of" sh "$1" "$search" | limit_output 100000 |
    sed -n 's/.*"version"[[:space:]]*:[[:space:]]*"\([0-9A-Za-z.+-]\{1,60\}\)".*/\1/p; s/^unknown$/&/p' | head -n 1)"
}

package_of='PATH=/usr/bin:/bin IFS=:
for folder in $2; do
  [ -f "$folder/$1" ] && [ -x "$folder/$1" ] || continue
  directory=$(readlink -f -- "$folder/$1")
  while directory=${directory%/*} && [ -n "$directory" ]; do
    [ ! -f "$directory/package.json" ] || exec head -c 100000 -- "$directory/package.json"
  done
  echo unknown
  exit
done'

# probe_strays UNIT...: processes of the agent's user outside its units, and so outside its sandbox. `everyone` lists
# `UID:/proc/PID` of all processes, read once for all agents. clm runs its own commands as the agent in units clm-….
probe_strays() {
  [ -n "$uid" ] || return 0
  count=0 units=" $* "
  for process in $everyone; do
    case $process in "$uid:"*) ;; *) continue ;; esac
    process=${process#*:}
    is_stray "$process" || continue
    count=$((count + 1))
    [ "$count" -gt 10 ] || say stray "${process##*/} $(stray_command "$process")"
  done
  say strays "$count"
}

is_stray() {
  # A process that ended, or a zombie that was not reaped yet, does not count.
  read -r stat 2>/dev/null <"$1/stat" || return 1
  stat=${stat##*) }
  case $stat in
    # A zombie with other threads still runs.
    Z* | X*) has_threads $stat || return 1 ;;
  esac
  find_group "$1"
  case $group in
    /system.slice/clm-exec-* | /system.slice/clm-run-* | /system.slice/clm-job-*) return 1 ;;
    /user.slice/* | /system.slice/ssh*) ! is_under_root_login "$stat" ;;
    /system.slice/*)
      group=${group#/system.slice/}
      case $units in *" ${group%%/*} "*) return 1 ;; esac
      ;;
  esac
}

# has_threads STAT: the fields of /proc/PID/stat from the state on.
has_threads() {
  [ "${18:-0}" -gt 1 ]
}

# clm, or an administrator, reads the agent's files as its user: such a process has a root process above it, in a login
# session. A stray that was left behind there has only init above it.
is_under_root_login() {
  rest=$1 depth=0
  while [ "$depth" -lt 20 ]; do
    depth=$((depth + 1))
    rest=${rest#* }
    parent=${rest%% *}
    [ "$parent" -gt 1 ] || return 1
    case $(stat -c %u "/proc/$parent" 2>/dev/null) in 0) return 0 ;; "$uid") ;; *) return 1 ;; esac
    read -r rest 2>/dev/null <"/proc/$parent/stat" || return 1
    rest=${rest##*) }
  done
  return 1
}

# The process chose this text.
stray_command() {
  head -c 200 "$1/cmdline" 2>/dev/null | tr -c '[:print:]' ' ' | sed 's/ *$//'
}
