# The status of an agent beyond its proofs. Used after the functions of proof.sh for the account, the unit and the port.

# CPU time of its control group. Called twice: the difference is the load.
probe_use() {
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

# Sets `bytes` to the memory of the group's processes together.
add_memory() {
  bytes=0
  while read -r process; do
    while read -r name value _; do
      case $name in VmRSS:) bytes=$((bytes + value * 1024)); break ;; esac
    done 2>/dev/null <"/proc/$process/status"
  done 2>/dev/null <"$group/cgroup.procs"
}

# Sets `group` to the control group of the process, a folder of /proc.
find_group() {
  group=''
  while IFS= read -r line; do
    case $line in 0::*) group=${line#0::} ;; esac
  done 2>/dev/null <"$1/cgroup"
}

probe_health() {
  [ "$ours" = yes ] || return 0
  request health "$health" | curl -q --config - 2>/dev/null
}

# probe_reach [NAME ADDRESS]...: whether its model providers can be reached from here, in parallel. No key is sent. The
# name of its own provider is empty.
probe_reach() {
  asked=''
  while [ $# -gt 1 ]; do
    curl -q --config - 2>/dev/null <<END &
url = "$2"
silent
output = "/dev/null"
write-out = "${prefix}reach-status${1:+.$1}=%{http_code}\n"
max-time = 5
proto = "=http,https"
END
    asked="$asked $!${1:+/$1}"
    shift 2
  done
}

# The exit code of each curl explains a missing status.
probe_reached() {
  for each in $asked; do
    wait "${each%%/*}"
    code=$?
    case $each in */*) say "reach.${each#*/}" "$code" ;; *) say reach "$code" ;; esac
  done
}

# probe_runtime PROGRAM KEY: the runtime that config.yaml selects, and the version of the program on `search`, by its
# package. The program is the agent's, and is not run.
probe_runtime() {
  [ -n "$uid" ] || return 0
  say runtime "$(contents "$config" | sed -n "/^[[:space:]]*#/d; s/.*[{,[:space:]]$2:[[:space:]]*[\"']\{0,1\}\([A-Za-z_]*\).*/\1/p" | head -n 1)"
  say runtime-version "$(ask_agent 10 /bin/sh -c "$package_of" sh "$1" "$search" | at_most 100000 |
    sed -n 's/.*"version"[[:space:]]*:[[:space:]]*"\([0-9A-Za-z.+-]\{1,60\}\)".*/\1/p; s/^unknown$/&/p' | head -n 1)"
}

package_of='PATH=/usr/bin:/bin IFS=:
for folder in $2; do
  [ -f "$folder/$1" ] && [ -x "$folder/$1" ] || continue
  place=$(readlink -f -- "$folder/$1")
  while place=${place%/*} && [ -n "$place" ]; do
    [ ! -f "$place/package.json" ] || exec head -c 100000 -- "$place/package.json"
  done
  echo unknown
  exit
done'

# probe_strays UNIT...: processes of the agent's user outside its units, and so outside its sandbox. `everyone` has a
# word `UID:/proc/PID` for each process, read once for all agents. clm itself runs commands of the agent in units named
# clm-….
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
    /user.slice/* | /system.slice/ssh*) ! is_lent "$stat" ;;
    /system.slice/*)
      group=${group#/system.slice/}
      case $units in *" ${group%%/*} "*) return 1 ;; esac
      ;;
  esac
}

# Takes the fields of /proc/PID/stat from the state on.
has_threads() {
  [ "${18:-0}" -gt 1 ]
}

# A process that reads the agent's files for clm, or for an administrator, runs as its user below a process of root in a
# login session. One that was left behind there has only the first process as its parent.
is_lent() {
  rest=$1 depth=0
  while [ "$depth" -lt 20 ]; do
    depth=$((depth + 1))
    rest=${rest#* }
    above=${rest%% *}
    [ "$above" -gt 1 ] || return 1
    case $(stat -c %u "/proc/$above" 2>/dev/null) in 0) return 0 ;; "$uid") ;; *) return 1 ;; esac
    read -r rest 2>/dev/null <"/proc/$above/stat" || return 1
    rest=${rest##*) }
  done
  return 1
}

# The process chose this text: it may be anything.
stray_command() {
  head -c 200 "$1/cmdline" 2>/dev/null | tr -c '[:print:]' ' ' | sed 's/ *$//'
}
