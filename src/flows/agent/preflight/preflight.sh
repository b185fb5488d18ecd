# What must be known of a host before an agent comes to it. The script that carries it sets what is looked at, job (the
# unit of the installer) and mark (the comment of an account we made), then calls the parts.

see_programs() {
  for program; do
    ! command -v "$program" >/dev/null 2>&1 || say program "$program"
  done
}

# Of an account the comment tells whether it is ours; of a group, whether anybody is in it.
see_account() {
  say account "$(getent passwd "$user")"
  IFS=: read -r group _ gid members <<END
$(getent group "$user")
END
  if [ -z "$group" ]; then :
  elif [ -n "$members" ] || getent passwd | cut -d : -f 4 | grep -qx "$gid"; then say group used
  else say group empty
  fi
  [ ! -e "$home" ] && [ ! -L "$home" ] || say home there
}

see_unit() {
  for file in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
    [ -e "$file/$unit" ] || [ -L "$file/$unit" ] || continue
    say unit "$file/$unit"
    say unit_user "$(sed -n 's/^User=//p' "$file/$unit" 2>/dev/null | head -n 1)"
    break
  done
  say state "$(systemctl show --property ActiveState --value -- "$unit" 2>/dev/null)"
  say job "$(systemctl show --property ActiveState --value -- "$job" 2>/dev/null)"
}

# Port in hex and owner of every socket that listens; ss may not be there.
see_ports() {
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ local _ state _ _ _ uid _; do
    [ "$state" != 0A ] || say listen "${local##*:} $uid"
  done
}

# All at once: each may take its five seconds.
see_reach() {
  command -v curl >/dev/null 2>&1 || return 0
  for url; do
    if curl --silent --output /dev/null --max-time 5 "$url" </dev/null; then say reach "yes $url"; else say reach "no $url"; fi &
  done
  wait
}

# The launcher is a program of the agent's: it is run only when the account is one we made.
see_our_version() {
  IFS=: read -r _ _ uid gid comment _ <<END
$(getent passwd "$user")
END
  [ -n "$mark" ] && [ "$comment" = "$mark" ] || uid=''
  see_version "$@"
}
