# What every script that looks at an agent begins with. It prints what it sees as key=value lines, judges nothing and changes
# nothing. POSIX sh, run as root. `uid` and `gid` are the agent's, and empty when it has no account.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
unset CDPATH ENV seconds
cd /

# A longer line is not written at once: what others say could come between, and one agent could speak for another.
say() {
  printf '%s=%.3000s\n' "$1" "$2"
}

# With the agent's own rights: what is in its home it can swap for a link to anything. Who only looks uses ask_agent.
as_agent() {
  ${seconds:+timeout -k 2 "$seconds"} setpriv --reuid "$uid" --regid "$gid" --init-groups -- \
    env -i HOME="$home" USER="$user" LOGNAME="$user" LANG=C.UTF-8 PATH="$search" "$@" </dev/null 2>/dev/null
}

# ask_agent SECONDS COMMAND...: no agent may keep the others of its host waiting, or leave anything of ours behind there.
ask_agent() (
  seconds=$1
  shift
  as_agent "$@"
)

# first_of BYTES FILE, of a plain file only: whoever opens a FIFO waits.
first_of() {
  ask_agent 10 /bin/sh -c '[ -f "$2" ] && exec /usr/bin/head -c "$1" -- "$2"' sh "$1" "$2"
}

# at_most BYTES, and not for ever: what runs with the agent's rights is in its hands, and so is the pipe.
at_most() {
  timeout -k 2 12 head -c "$1"
}

# last_of BYTES FILE: whole lines, as half of one may be half of a secret.
last_of() {
  ask_agent 10 /bin/sh -c "$last_lines" sh "$1" "$2" | at_most "$1"
}

last_lines='PATH=/usr/bin:/bin
[ -f "$2" ] && size=$(stat -Lc %s -- "$2") || exit
tail -c "$1" -- "$2" | if [ "$size" -gt "$1" ]; then sed 1d; else cat; fi'

# see_version SECONDS LAUNCHER ARG...: something that the launcher started may keep the pipe open after its end.
see_version() {
  [ -n "$uid" ] || return 0
  say version "$(cd "$home" && ask_agent "$@" | timeout -k 2 "$1" head -n 1 | head -c 500)"
}

