# user and the absence of one.

# Sets is_name, is_uid and so on; empty for an unknown user. Most are in the file, which is read without a process.
read_passwd() {
  while IFS=: read -r is_name _ is_uid is_gid is_comment is_home is_shell; do
    [ "$is_name" != "$1" ] || return 0
  done </etc/passwd
  IFS=: read -r is_name _ is_uid is_gid is_comment is_home is_shell <<END
$(getent passwd "$1")
END
}

# user NAME HOME SHELL LOCKED SYSTEM COMMENT GROUPS...
check_user() {
  name=$1 home=$2 shell=$3 locked=$4 system=$5 comment=$6
  shift 6
  read_passwd "$name"
  if [ -z "$is_name" ]; then
    differs missing
    return
  fi
  [ "$is_home" = "$home" ] || differs "home $is_home -> $home"
  [ -d "$home" ] || differs 'home directory missing'
  [ "$is_shell" = "$shell" ] || differs "shell $is_shell -> $shell"
  [ -z "$comment" ] || [ "$is_comment" = "$comment" ] || differs 'comment'
  [ -z "$locked" ] || is_locked || differs 'not locked'
  [ $# = 0 ] || is_in=" $(id -nG "$name") "
  for group; do
    case $is_in in *" $group "*) ;; *) differs "not in group $group" ;; esac
  done
}

is_locked() {
  while IFS=: read -r who is_password _; do
    [ "$who" != "$name" ] || break
  done </etc/shadow
  [ "$who" = "$name" ] || is_password=$(getent shadow "$name" | cut -d : -f 2)
  case $is_password in '!'* | '*'*) ;; *) return 1 ;; esac
}

change_user() {
  shift 6
  [ -n "$is_name" ] || add_user || exit
  # Only what differs: usermod refuses a new home while the user has a process, even when it is the old one.
  [ "$is_home" = "$home" ] || usermod --home "$home" "$name" || exit
  [ "$is_shell" = "$shell" ] || usermod --shell "$shell" "$name" || exit
  [ -z "$comment" ] || [ "$is_comment" = "$comment" ] || usermod --comment "$comment" "$name" || exit
  [ -z "$locked" ] || is_locked || usermod --lock "$name" || exit
  for group; do
    usermod --append --groups "$group" "$name" || exit
  done
  [ -d "$home" ] || make_home
}

add_user() {
  is_home=$home is_shell=$shell is_comment=$comment
  set -- --no-create-home --home-dir "$home" --shell "$shell" --comment "$comment"
  [ -z "$system" ] || set -- "$@" --system
  gid=$(getent group "$name" | cut -d : -f 3)
  # Group members get the group's rights, and userdel removes a group that is named like its user.
  [ -z "$gid" ] || is_nobodys_group || fail "there is a group $name already, and it is in use"
  # An empty group is left by a killed useradd.
  if [ -n "$gid" ]; then set -- "$@" --gid "$name"; else set -- "$@" --user-group; fi
  useradd "$@" "$name"
}

is_nobodys_group() {
  [ -z "$(getent group "$name" | cut -d : -f 4)" ] && ! getent passwd | cut -d : -f 4 | grep -qx "$gid"
}

# Apart from useradd, which records the user first: after a kill, a rerun finds a user without a home and comes here.
make_home() {
  rm -rf -- "$home.clm-new" &&
    mkdir -m 0700 -- "$home.clm-new" &&
    { [ ! -d /etc/skel ] || cp -R /etc/skel/. "$home.clm-new"; } &&
    chown -Rh "$name:" "$home.clm-new" &&
    mv -T -- "$home.clm-new" "$home"
}

# absent_user NAME
check_absent_user() {
  name=$1
  read_passwd "$name"
  [ -z "$is_name" ] || differs present
}

# The user is removed last: after a kill, the next run still finds the rest by its name.
change_absent_user() {
  [ "$is_uid" != 0 ] || fail "$name is root by another name"
  keeper=''
  # Nothing may start as this user while its processes are ended: no login, no cron, no user manager.
  usermod --lock --expiredate 1 "$name" || exit
  for path in "/var/spool/cron/crontabs/$name" "/var/mail/$name" "/var/lib/systemd/linger/$name"; do
    rm -f -- "$path" || exit
  done
  loginctl disable-linger "$name" 2>/dev/null
  systemctl stop "user@$is_uid.service" 2>/dev/null
  end_processes "$is_uid" "$is_gid" || fail 'some of its processes do not end'
  # A set-user-ID program or a queued job would belong to the next user that gets this uid.
  find /tmp /var/tmp /dev/shm /var/spool/cron/atjobs -xdev -uid "$is_uid" -delete 2>/dev/null
  remove_home || exit
  remove_own_group || exit
  userdel "$name"
}

# A home of another user, or a path that is no home, stays.
remove_home() {
  case $is_home in
    /*/*) [ -L "$is_home" ] || [ "$(stat -c %u -- "$is_home" 2>/dev/null)" != "$is_uid" ] || remove "$is_home" ;;
  esac
}

# Before the user, because userdel removes the user first: killed there, it would leave a group of unknown owner. The
# own group has the user's name and is its primary one; a rerun after a kill finds `nogroup` as the primary one instead.
remove_own_group() {
  gid=$(getent group "$name" | cut -d : -f 3) nogroup=$(getent group nogroup | cut -d : -f 3)
  [ -n "$gid" ] && [ -n "$nogroup" ] || return 0
  if [ "$is_gid" = "$gid" ]; then usermod --gid "$nogroup" "$name" && is_gid=$nogroup || return; fi
  if [ "$is_gid" = "$nogroup" ] && is_nobodys_group; then groupdel "$name"; fi
}
