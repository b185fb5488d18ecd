# The beginning of every probe script. A probe prints key=value lines, judges nothing and changes nothing. POSIX sh, run as root.
# `uid` and `gid` are the agent's, and empty when it has no account.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
unset CDPATH ENV seconds
cd /
newline='
'
# Prefix of each line when several agents are probed; start of the unit, as systemd writes it.
prefix='' started=''

# Longer lines are not atomic: lines of other agents could mix with it, and one agent could speak for another.
say() {
  printf '%s%s=%.3000s\n' "$prefix" "$1" "$2"
}

# find_account: sets `uid`, `gid` and `comment` of `user`, empty without an account. Reading the file takes no process.
find_account() {
  while IFS=: read -r account _ uid gid comment _; do
    [ "$account" != "$user" ] || return 0
  done </etc/passwd
  IFS=: read -r _ _ uid gid comment _ <<END
$(getent passwd "$user")
END
}

# Reads files with the agent's own rights: it can swap files in its home for links to anything. Must not run what the
# agent owns, so its directories are not on PATH: that needs the sandbox (transient-unit.ts).
as_agent() {
  ${seconds:+timeout -k 2 "$seconds"} setpriv --reuid "$uid" --regid "$gid" --init-groups --no-new-privs -- \
    env -i HOME="$home" USER="$user" LOGNAME="$user" LANG=C.UTF-8 PATH=/usr/bin:/bin "$@" </dev/null 2>/dev/null
}

# ask_agent SECONDS COMMAND...: with a deadline, so that no agent delays the others of its host.
ask_agent() (
  seconds=$1
  shift
  as_agent "$@"
)

# read_as_agent SECONDS BYTES COMMAND...: at most so many bytes of output. The agent controls the process and its end of
# the pipe: the deadline ends both. Only in a subshell, which it replaces.
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

# first_of BYTES FILE, of a regular file only: opening a FIFO blocks.
first_of() {
  ask_agent 10 /bin/sh -c '[ -f "$2" ] && exec /usr/bin/head -c "$1" -- "$2"' sh "$1" "$2"
}

# at_most BYTES, with a deadline: the agent controls the pipe's other end. Only in a pipeline: it replaces the shell.
at_most() {
  exec timeout -k 2 12 head -c "$1"
}

# last_of BYTES FILE: whole lines, as half a line may be half a secret. Only in a subshell.
last_of() {
  read_as_agent 10 "$1" /bin/sh -c "$last_lines" sh "$1" "$2"
}

last_lines='PATH=/usr/bin:/bin
[ -f "$2" ] && size=$(stat -Lc %s -- "$2") || exit
[ "$size" -gt "$1" ] || exec cat -- "$2"
tail -c "$1" -- "$2" | sed 1d'

# probe_version FILE LAUNCHER REPORTS VERSION: sets `reports` and `version` to those constants of the file; empty unless
# it has both and the launcher is executable. Neither is run.
probe_version() {
  reports='' version=''
  [ -n "$uid" ] || return 1
  constants=$(read_as_agent 10 20000 /bin/sh -c '[ -f "$1" ] && [ -x "$2" ] && exec /usr/bin/head -c 20000 -- "$1"' sh "$1" "$2" | tr -d '\0')
  while IFS= read -r line; do
    case $line in
      "$3 = "*) unquoted "${line#*= }" && reports=$text ;;
      "$4 = "*) unquoted "${line#*= }" && version=$text ;;
    esac
  done <<END
$constants
END
  has_version
}

has_version() {
  [ -n "$reports" ] && [ -n "$version" ]
}

# Sets `text` to the quoted text at the beginning; fails when that is not a version.
unquoted() {
  text=${1#[\"\']}
  text=${text%%[\"\']*}
  case $text in *[!0-9A-Za-z.+-]*) return 1 ;; esac
  [ "${#text}" -le 50 ]
}

