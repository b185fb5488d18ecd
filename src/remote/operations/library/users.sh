# user and the absence of one.

# Sets is_name, is_uid and so on to the entry of a user, to nothing when there is none. Most are in the file, which takes no process to read.
read_passwd() {
  while IFS=: read -r is_name _ is_uid is_gid is_comment is_home is_shell; do
    [ "$is_name" != "$1" ] || return 0
  done </etc/passwd
  IFS=: read -r is_name _ is_uid is_gid is_comment is_home is_shell <<END
$(getent passwd "$1")
END
}

# user NAME HOME SHELL LOCKED SYSTEM COMMENT GROUPS...
look_user() {
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
  # Whoever is in a group gets what it may do; and userdel takes the group away with the user it is named like.
  [ -z "$gid" ] || is_nobodys_group || fail "there is a group $name already, and it is in use"
  # One that nobody is in is left by a useradd that was killed.
  if [ -n "$gid" ]; then set -- "$@" --gid "$name"; else set -- "$@" --user-group; fi
  useradd "$@" "$name"
}

is_nobodys_group() {
  [ -z "$(getent group "$name" | cut -d : -f 4)" ] && ! getent passwd | cut -d : -f 4 | grep -qx "$gid"
}

# Apart from useradd, which writes the user down first: killed there, a rerun finds a user without a home and comes here.
make_home() {
  rm -rf -- "$home.clm-new" &&
    mkdir -m 0700 -- "$home.clm-new" &&
    { [ ! -d /etc/skel ] || cp -R /etc/skel/. "$home.clm-new"; } &&
    chown -Rh "$name:" "$home.clm-new" &&
    mv -T -- "$home.clm-new" "$home"
}

# absent_user NAME
look_absent_user() {
  name=$1
  read_passwd "$name"
  [ -z "$is_name" ] || differs present
}

# The user goes last: whatever is left when this is killed, the next run still finds by its name.
change_absent_user() {
  [ "$is_uid" != 0 ] || fail "$name is root by another name"
  keeper=''
  # Nobody may start anything as this user while its processes are ended: no login, no cron, no user manager.
  usermod --lock --expiredate 1 "$name" || exit
  for path in "/var/spool/cron/crontabs/$name" "/var/mail/$name" "/var/lib/systemd/linger/$name"; do
    rm -f -- "$path" || exit
  done
  loginctl disable-linger "$name" 2>/dev/null
  systemctl stop "user@$is_uid.service" 2>/dev/null
  end_processes "$is_uid" "$is_gid" || fail 'some of its processes do not end'
  # A program with its set-user-ID bit, or a job for later, would be the next user's who gets its number.
  find /tmp /var/tmp /dev/shm /var/spool/cron/atjobs -xdev -uid "$is_uid" -delete 2>/dev/null
  remove_home || exit
  remove_own_group || exit
  userdel "$name"
}

# A home that belongs to somebody else, or is no home at all, stays.
remove_home() {
  case $is_home in
    /*/*) [ -L "$is_home" ] || [ "$(stat -c %u -- "$is_home" 2>/dev/null)" != "$is_uid" ] || remove "$is_home" ;;
  esac
}

# Before the user, because userdel writes down users first: killed there, it would leave a group that nobody could know as
# the user's. It is the user's own when it has the user's name and is what the user is in; killed after that is changed,
# the next run sees by `nogroup` that it was.
remove_own_group() {
  gid=$(getent group "$name" | cut -d : -f 3) nogroup=$(getent group nogroup | cut -d : -f 3)
  [ -n "$gid" ] && [ -n "$nogroup" ] || return 0
  if [ "$is_gid" = "$gid" ]; then usermod --gid "$nogroup" "$name" && is_gid=$nogroup || return; fi
  if [ "$is_gid" = "$nogroup" ] && is_nobodys_group; then groupdel "$name"; fi
}
