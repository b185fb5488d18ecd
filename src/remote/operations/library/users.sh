# Operations on users.

# Sets account_name, account_uid and so on; empty for an unknown user. Reading the file takes no process.
read_passwd() {
  while IFS=: read -r account_name _ account_uid account_gid account_comment account_home account_shell; do
    [ "$account_name" != "$1" ] || return 0
  done </etc/passwd
  IFS=: read -r account_name _ account_uid account_gid account_comment account_home account_shell <<END
$(getent passwd "$1")
END
}

# user NAME HOME SHELL LOCKED SYSTEM COMMENT GROUPS...
check_user() {
  name=$1 home=$2 shell=$3 locked=$4 system=$5 comment=$6
  shift 6
  read_passwd "$name"
  if [ -z "$account_name" ]; then
    differs missing
    return
  fi
  [ "$account_home" = "$home" ] || differs "home $account_home -> $home"
  [ -d "$home" ] || differs 'home directory missing'
  [ "$account_shell" = "$shell" ] || differs "shell $account_shell -> $shell"
  [ -z "$comment" ] || [ "$account_comment" = "$comment" ] || differs 'comment'
  [ -z "$locked" ] || is_locked || differs 'not locked'
  [ $# = 0 ] || group_names=" $(id -nG "$name") "
  for group; do
    case $group_names in *" $group "*) ;; *) differs "not in group $group" ;; esac
  done
}

is_locked() {
  while IFS=: read -r login password _; do
    [ "$login" != "$name" ] || break
  done </etc/shadow
  [ "$login" = "$name" ] || password=$(getent shadow "$name" | cut -d : -f 2)
  case $password in '!'* | '*'*) ;; *) return 1 ;; esac
}

change_user() {
  shift 6
  [ -n "$account_name" ] || add_user || exit
  # Only what differs: while the user has a process, usermod refuses to set a home, even the same one.
  [ "$account_home" = "$home" ] || usermod --home "$home" "$name" || exit
  [ "$account_shell" = "$shell" ] || usermod --shell "$shell" "$name" || exit
  [ -z "$comment" ] || [ "$account_comment" = "$comment" ] || usermod --comment "$comment" "$name" || exit
  [ -z "$locked" ] || is_locked || usermod --lock "$name" || exit
  for group; do
    usermod --append --groups "$group" "$name" || exit
  done
  [ -d "$home" ] || make_home
}

add_user() {
  account_home=$home account_shell=$shell account_comment=$comment
  set -- --no-create-home --home-dir "$home" --shell "$shell" --comment "$comment"
  [ -z "$system" ] || set -- "$@" --system
  gid=$(getent group "$name" | cut -d : -f 3)
  # An existing group with members would share its files with them, and userdel removes a group named like its user.
  [ -z "$gid" ] || is_unused_group || fail "there is a group $name already, and it is in use"
  # A killed useradd leaves an empty group.
  if [ -n "$gid" ]; then set -- "$@" --gid "$name"; else set -- "$@" --user-group; fi
  useradd "$@" "$name"
}

is_unused_group() {
  [ -z "$(getent group "$name" | cut -d : -f 4)" ] && ! getent passwd | cut -d : -f 4 | grep -qx "$gid"
}

# Not done by useradd, which records the user first: a rerun after a kill finds a user without a home and makes it.
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
  [ -z "$account_name" ] || differs present
}

# The user is removed last, so that a rerun after a kill still finds it.
change_absent_user() {
  [ "$account_uid" != 0 ] || fail "$name is root by another name"
  dir_owner=''
  # Nothing may start as this user while its processes are ended: no login, no cron, no user manager.
  usermod --lock --expiredate 1 "$name" || exit
  for path in "/var/spool/cron/crontabs/$name" "/var/mail/$name" "/var/lib/systemd/linger/$name"; do
    rm -f -- "$path" || exit
  done
  loginctl disable-linger "$name" 2>/dev/null
  systemctl stop "user@$account_uid.service" 2>/dev/null
  end_processes "$account_uid" "$account_gid" || fail 'some of its processes do not end'
  # A set-user-ID program or a queued job would belong to the next user that gets this uid.
  find /tmp /var/tmp /dev/shm /var/spool/cron/atjobs -xdev -uid "$account_uid" -delete 2>/dev/null
  remove_home || exit
  remove_own_group || exit
  userdel "$name"
}

# Keeps a directory that belongs to another user, and paths such as / or /home.
remove_home() {
  case $account_home in
    /*/*) [ -L "$account_home" ] || [ "$(stat -c %u -- "$account_home" 2>/dev/null)" != "$account_uid" ] || remove "$account_home" ;;
  esac
}

# Removed before the user: userdel removes the user first and, when killed then, leaves a group without a user.
# The group has the user's name and is its primary one, or was: then a killed run has made `nogroup` the primary one.
remove_own_group() {
  gid=$(getent group "$name" | cut -d : -f 3) nogroup=$(getent group nogroup | cut -d : -f 3)
  [ -n "$gid" ] && [ -n "$nogroup" ] || return 0
  if [ "$account_gid" = "$gid" ]; then usermod --gid "$nogroup" "$name" && account_gid=$nogroup || return; fi
  if [ "$account_gid" = "$nogroup" ] && is_unused_group; then groupdel "$name"; fi
}
