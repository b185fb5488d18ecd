# The caller sets the agent's variables, `job` (the installer's unit) and `expected_comment` (of an account clm made).

probe_programs() {
  for program; do
    ! command -v "$program" >/dev/null 2>&1 || say program "$program"
  done
}

# The comment of an account shows whether clm made it. A group is used when it has members or is someone's primary one.
probe_account() {
  say account "$(getent passwd "$user")"
  IFS=: read -r group _ gid members <<END
$(getent group "$user")
END
  if [ -z "$group" ]; then :
  elif [ -n "$members" ] || getent passwd | cut -d : -f 4 | grep -qx "$gid"; then say group used
  else say group empty
  fi
  [ ! -e "$home" ] && [ ! -L "$home" ] || say home present
}

probe_unit() {
  for file in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
    [ -e "$file/$unit" ] || [ -L "$file/$unit" ] || continue
    say unit "$file/$unit"
    say unit_user "$(sed -n 's/^User=//p' "$file/$unit" 2>/dev/null | head -n 1)"
    break
  done
  say state "$(systemctl show --property ActiveState --value -- "$unit" 2>/dev/null)"
  say job "$(systemctl show --property ActiveState --value -- "$job" 2>/dev/null)"
}

# Port in hex and uid of every listening socket. ss may not be installed.
probe_ports() {
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ local _ state _ _ _ uid _; do
    [ "$state" != 0A ] || say listen "${local##*:} $uid"
  done
}

# In parallel: each may take five seconds.
probe_reach() {
  command -v curl >/dev/null 2>&1 || return 0
  for url; do
    if curl --silent --output /dev/null --max-time 5 "$url" </dev/null; then say reach "yes $url"; else say reach "no $url"; fi &
  done
  wait
}

# Only for an account that clm made.
probe_our_version() {
  IFS=: read -r _ _ uid gid comment _ <<END
$(getent passwd "$user")
END
  [ -n "$expected_comment" ] && [ "$comment" = "$expected_comment" ] || uid=''
  probe_version "$@"
}

# probe_commit CODE: reads git's files, because git would run programs named in the agent's git configuration.
probe_commit() {
  [ -n "$uid" ] || return 0
  say commit "$(as_agent_within 10 /bin/sh -c "$commit_of" sh "$1/.git" | tr -cd '0-9a-f')"
}

commit_of='PATH=/usr/bin:/bin
first_line() { [ ! -f "$1" ] || head -c 500 -- "$1" | head -n 1; }
cd -- "$1" || exit
head=$(first_line HEAD)
case $head in
  "ref: refs/"*)
    name=${head#ref: }
    head=$(first_line "$name")
    [ -n "$head" ] || [ ! -f packed-refs ] || head=$(head -c 5000000 packed-refs | awk -v name="$name" "\$2 == name { print \$1; exit }")
    ;;
esac
printf %.40s "$head"'
