# What every script that looks at an agent begins with. It prints what it sees as key=value lines, judges nothing and changes
# nothing. POSIX sh, run as root. `uid` and `gid` are the agent's, and empty when it has no account.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
unset CDPATH ENV
cd /

say() {
  printf '%s=%s\n' "$1" "$2"
}

# With the agent's own rights: what is in its home it can swap for a link to anything.
as_agent() {
  setpriv --reuid "$uid" --regid "$gid" --init-groups -- env -i HOME="$home" USER="$user" LOGNAME="$user" \
    LANG=C.UTF-8 PATH="$search" "$@" </dev/null 2>/dev/null
}

see_version() {
  [ -n "$uid" ] || return 0
  say version "$(cd "$home" && as_agent timeout 60 "$@" | head -n 1)"
}

