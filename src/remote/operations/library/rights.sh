# Who owns a path, and with whose rights it may be changed.

# Sets uid and gid of a user, both empty while there is none. Lists name the same owner again and again.
identify() {
  [ "$1" != "$known" ] || return 0
  while IFS=: read -r who _ uid gid _; do
    [ "$who" != "$1" ] || { known=$1; return 0; }
  done </etc/passwd
  uid=$(id -u "$1" 2>/dev/null) gid=$(id -g "$1" 2>/dev/null)
  known=${uid:+$1}
}

look_at_owner_and_mode() {
  case $phase,$stats in
    look,*"$newline$path "*) is=${stats##*"$newline$path "} is=${is%%"$newline"*} ;;
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

# Whoever owns a directory can swap what is in it for a link to /etc between our look and our change. So root changes
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

# What runs with the keeper's rights can be stopped by the keeper's processes, and its open files are theirs to open: it has a deadline,
# and no hold of the lock.
with_rights() {
  if [ -z "$keeper" ]; then
    "$@"
  else
    timeout -k 2 300 setpriv --reuid "$keeper" --regid "$keeper_gid" --init-groups -- "$@" 9>&-
  fi
}

# An owner other than the keeper would be no owner at all: the keeper can put something else in the place.
check_owner() {
  identify "$owner"
  [ -n "$uid" ] || fail "there is no user $owner on this host"
  [ -z "$keeper" ] || [ "$keeper" = "$uid" ] || fail "it is in a directory of $keeper_name, so $owner cannot own it"
}
