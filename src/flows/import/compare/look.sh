# Looks at an agent that somebody else set up and prints what was seen as key=value lines. Judges nothing, changes nothing.
# POSIX sh, run as root. The script that carries it sets what is looked at.

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

see_account() {
  uid=$(id -u "$user" 2>/dev/null) gid=$(id -g "$user" 2>/dev/null)
  [ -n "$uid" ] || return 0
  say account "$(getent passwd "$user")"
}

see_unit() {
  systemctl show --property LoadState,User,NoNewPrivileges,ProtectSystem,ProtectHome,PrivateTmp,RestrictNamespaces -- "$unit" |
    while IFS='=' read -r property value; do say "unit.$property" "$value"; done
}

see_version() {
  [ -n "$uid" ] || return 0
  say version "$(cd "$home" && as_agent timeout 60 "$@" | head -n 1)"
}

# Names only, but for where it listens. Of the key nothing leaves the host but a salted digest.
see_env() {
  [ -n "$uid" ] || return 0
  say env "$(as_agent stat -c %a -- "$env")"
  content=$(as_agent head -c 1000000 -- "$env")
  printf '%s\n' "$content" | sed -n 's/^[[:space:]]*\(export[[:space:]]\{1,\}\)\{0,1\}\([A-Za-z_][A-Za-z0-9_]*\)=.*/variable=\2/p'
  say bind "$(value_of API_SERVER_HOST)"
  say port "$(value_of API_SERVER_PORT)"
  key=$(value_of API_SERVER_KEY)
  [ -z "$key" ] || say key "$(printf '%s%s' "$salt" "$key" | sha256sum | cut -c 1-64)"
}

value_of() {
  printf '%s\n' "$content" | sed -n "s/^[[:space:]]*\(export[[:space:]]\{1,\}\)\{0,1\}$1=//p" | tail -n 1 |
    sed "s/[[:space:]]*\$//; s/^'\(.*\)'\$/\1/; s/^\"\(.*\)\"\$/\1/"
}
