# The owner of a path, and the rights with which it may be changed.

# Sets uid and gid of a user, both empty when it does not exist. Cached: lists repeat the same owner.
identify() {
  [ "$1" != "$known" ] || return 0
  while IFS=: read -r who _ uid gid _; do
    [ "$who" != "$1" ] || { known=$1; return 0; }
  done </etc/passwd
  uid=$(id -u "$1" 2>/dev/null) gid=$(id -g "$1" 2>/dev/null)
  known=${uid:+$1}
}

compare_owner_and_mode() {
  case $phase,$stats in
    check,*"$newline$path "*) is=${stats##*"$newline$path "} is=${is%%"$newline"*} ;;
    *) is=$(stat -c %u:%U:%g:%G:%a:%s -- "$path" 2>/dev/null) ;;
  esac
  IFS=: read -r is_uid is_owner is_gid is_group is_mode is_size <<END
$is
END
  identify "$owner"
  if [ "$is_uid" != "$uid" ]; then
    differs "owner $is_owner -> $owner"
  elif [ -z "$group" ]; then
    [ "$is_gid" = "$gid" ] || differs "group $is_group -> $(id -gn "$owner")"
  fi
  [ -z "$group" ] || [ "$is_group" = "$group" ] || differs "group $is_group -> $group"
  [ "$is_mode" = "$mode" ] || differs "mode 0$is_mode -> 0$mode"
}

# The owner of a directory can swap its content for a link to /etc between our check and our change. So root changes
# nothing below a directory that is not root's: that is done with the rights of its owner, the keeper.
find_keeper() {
  above=${path%/*} keeper=''
  [ "$me" = 0 ] || return 0
  for above_uid in $(owners_down_to "$above"; [ -z "$above" ] || owners_down_to "$(readlink -f -- "$above")"); do
    [ "$above_uid" != 0 ] || continue
    IFS=: read -r keeper_name _ keeper keeper_gid _ <<END
$(getent passwd "$above_uid")
END
    [ -n "$keeper" ] || fail "a directory above it belongs to uid $above_uid, which is no user of this host"
    return
  done
}

owners_down_to() {
  way='' rest=${1#/}/
  set --
  while [ -n "$rest" ]; do
    way=$way/${rest%%/*} rest=${rest#*/}
    set -- "$@" "$way"
  done
  stat -c %u -- "$@" 2>/dev/null
}

# The keeper's processes can stop a program with its rights and open its files: it has a deadline and not the lock.
with_rights() {
  if [ -z "$keeper" ]; then
    "$@"
  else
    timeout -k 2 300 setpriv --reuid "$keeper" --regid "$keeper_gid" --init-groups -- "$@" 9>&-
  fi
}

# Another owner than the keeper would mean nothing: the keeper can replace the path.
check_owner() {
  identify "$owner"
  [ -n "$uid" ] || fail "there is no user $owner on this host"
  [ -z "$keeper" ] || [ "$keeper" = "$uid" ] || fail "it is in a directory of $keeper_name, so $owner cannot own it"
}
