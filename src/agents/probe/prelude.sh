# The beginning of every probe script: POSIX sh, run as root. A probe prints key=value lines, judges nothing and changes
# nothing. `uid` and `gid` are the agent's, and empty when it has no account.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
unset CDPATH ENV seconds
cd /
newline='
'
# `prefix` is put before each line when several agents are probed. `started` is the unit's start, as systemd writes it.
prefix='' started=''

# Longer writes are not atomic: lines of several agents could mix, and one agent could forge another's.
say() {
  printf '%s%s=%.3000s\n' "$prefix" "$1" "$2"
}

# Sets `uid`, `gid` and `comment` of `user`, empty without an account. Reading the file takes no process.
find_account() {
  while IFS=: read -r account _ uid gid comment _; do
    [ "$account" != "$user" ] || return 0
  done </etc/passwd
  IFS=: read -r _ _ uid gid comment _ <<END
$(getent passwd "$user")
END
}

# Reads files with the agent's own rights: the agent can replace files in its home by links to anything. Must not run
# programs that the agent owns, so its directories are not on PATH: those need the sandbox (transient-unit.ts).
as_agent() {
  ${seconds:+timeout -k 2 "$seconds"} setpriv --reuid "$uid" --regid "$gid" --init-groups --no-new-privs -- \
    env -i HOME="$home" USER="$user" LOGNAME="$user" LANG=C.UTF-8 PATH=/usr/bin:/bin "$@" </dev/null 2>/dev/null
}

# as_agent_within SECONDS COMMAND...: as_agent with a deadline, so that no agent delays the others on its host.
as_agent_within() (
  seconds=$1
  shift
  as_agent "$@"
)

# read_as_agent SECONDS BYTES COMMAND...: limits time and output. The agent controls the process and its end of the
# pipe, so the deadline is on both ends. Call it in a subshell, which it replaces.
read_as_agent() {
  limit=$1 bytes=$2
  shift 2
  exec timeout -k 2 "$limit" /bin/sh -c "$read_as_agent" sh "$bytes" "$uid" "$gid" "$home" "$user" "$@"
}

read_as_agent='bytes=$1 uid=$2 gid=$3 home=$4 user=$5
shift 5
setpriv --reuid "$uid" --regid "$gid" --init-groups --no-new-privs -- \
  env -i HOME="$home" USER="$user" LOGNAME="$user" LANG=C.UTF-8 PATH=/usr/bin:/bin "$@" </dev/null 2>/dev/null |
  head -c "$bytes"'

# head_as_agent BYTES FILE. Only regular files: opening a FIFO blocks.
head_as_agent() {
  as_agent_within 10 /bin/sh -c '[ -f "$2" ] && exec /usr/bin/head -c "$1" -- "$2"' sh "$1" "$2"
}

# limit_output BYTES: has a deadline, as the agent controls the other end of the pipe. Call it in a pipeline: it execs.
limit_output() {
  exec timeout -k 2 12 head -c "$1"
}

# tail_as_agent BYTES FILE: whole lines, as half a line may be half a secret. Call it in a subshell.
tail_as_agent() {
  read_as_agent 10 "$1" /bin/sh -c "$last_lines" sh "$1" "$2"
}

last_lines='PATH=/usr/bin:/bin
[ -f "$2" ] && size=$(stat -Lc %s -- "$2") || exit
[ "$size" -gt "$1" ] || exec cat -- "$2"
tail -c "$1" -- "$2" | sed 1d'

# probe_version FILE LAUNCHER REPORTS VERSION: sets `reports` and `version` to the values of these constants in the
# file; fails unless it has both and the launcher is executable. Runs neither.
probe_version() {
  reports='' version=''
  [ -n "$uid" ] || return 1
  constants=$(read_as_agent 10 20000 /bin/sh -c '[ -f "$1" ] && [ -x "$2" ] && exec /usr/bin/head -c 20000 -- "$1"' sh "$1" "$2" | tr -d '\0')
  while IFS= read -r line; do
    case $line in
      "$3 = "*) unquote_version "${line#*= }" && reports=$text ;;
      "$4 = "*) unquote_version "${line#*= }" && version=$text ;;
    esac
  done <<END
$constants
END
  has_version
}

has_version() {
  [ -n "$reports" ] && [ -n "$version" ]
}

# Sets `text` to the quoted string at the start; fails when it is not a version.
unquote_version() {
  text=${1#[\"\']}
  text=${text%%[\"\']*}
  case $text in *[!0-9A-Za-z.+-]*) return 1 ;; esac
  [ "${#text}" -le 50 ]
}

