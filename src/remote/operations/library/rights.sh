# Owner and mode of a path, and with whose rights it is changed.

# Sets `uid` and `gid` of a user, both empty when it does not exist. Cached, as most lists repeat one owner.
identify() {
  [ "$1" != "$cached_user" ] || return 0
  while IFS=: read -r login _ uid gid _; do
    [ "$login" != "$1" ] || { cached_user=$1; return 0; }
  done </etc/passwd
  uid=$(id -u "$1" 2>/dev/null) gid=$(id -g "$1" 2>/dev/null)
  cached_user=${uid:+$1}
}

compare_owner_and_mode() {
  case $phase,$stats in
    check,*"$newline$path "*) actual=${stats##*"$newline$path "} actual=${actual%%"$newline"*} ;;
    *) actual=$(stat -c %u:%U:%g:%G:%a:%s -- "$path" 2>/dev/null) ;;
  esac
  IFS=: read -r actual_uid actual_owner actual_gid actual_group actual_mode actual_size <<END
$actual
END
  identify "$owner"
  if [ "$actual_uid" != "$uid" ]; then
    differs "owner $actual_owner -> $owner"
  elif [ -z "$group" ]; then
    [ "$actual_gid" = "$gid" ] || differs "group $actual_group -> $(id -gn "$owner")"
  fi
  [ -z "$group" ] || [ "$actual_group" = "$group" ] || differs "group $actual_group -> $group"
  [ "$actual_mode" = "$mode" ] || differs "mode 0$actual_mode -> 0$mode"
}

# Sets `dir_owner` to the first owner but root of a directory above `path`; empty when all are root's. That user can
# replace a checked path by a link to /etc before root changes it. So changes below are made with that user's rights.
find_dir_owner() {
  parent=${path%/*} dir_owner=''
  [ "$own_uid" = 0 ] || return 0
  for ancestor_uid in $(ancestor_owners "$parent"; [ -z "$parent" ] || ancestor_owners "$(readlink -f -- "$parent")"); do
    [ "$ancestor_uid" != 0 ] || continue
    IFS=: read -r dir_owner_name _ dir_owner dir_owner_gid _ <<END
$(getent passwd "$ancestor_uid")
END
    [ -n "$dir_owner" ] || fail "a directory above it belongs to uid $ancestor_uid, which is no user of this host"
    return
  done
}

ancestor_owners() {
  ancestor='' rest=${1#/}/
  set --
  while [ -n "$rest" ]; do
    ancestor=$ancestor/${rest%%/*} rest=${rest#*/}
    set -- "$@" "$ancestor"
  done
  stat -c %u -- "$@" 2>/dev/null
}

# Processes of that user can stop the command and open its files: it gets a deadline and no lock (fd 9).
as_dir_owner() {
  if [ -z "$dir_owner" ]; then
    "$@"
  else
    timeout -k 2 300 setpriv --reuid "$dir_owner" --regid "$dir_owner_gid" --init-groups -- "$@" 9>&-
  fi
}

# Giving the path to another user would protect nothing: the owner of the directory can replace it.
require_owner() {
  identify "$owner"
  [ -n "$uid" ] || fail "there is no user $owner on this host"
  [ -z "$dir_owner" ] || [ "$dir_owner" = "$uid" ] || fail "it is in a directory of $dir_owner_name, so $owner cannot own it"
}
