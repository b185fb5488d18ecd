# dir, file and the absence of a path.

# read_files SIZE PATH...: sets `stats` and `digests`, by two programs for the whole list; a change checks again.
# SIZE is that of the desired content: a file of another size needs no digest.
read_files() {
  stats='' digests='' rest=$# sizes=''
  while [ "$rest" -gt 1 ]; do
    sizes="$sizes $1"
    set -- "$@" "$2"
    shift 2
    rest=$((rest - 2))
  done
  [ $# != 0 ] || return 0
  stats=$newline$(stat -c '%n %u:%U:%g:%G:%a:%s' -- "$@" 2>/dev/null)$newline
  left=$stats
  for size in $sizes; do
    path=$1
    shift
    case $left in
      "$newline$path "*)
        left=${left#"$newline$path "}
        is_size=${left%%"$newline"*}
        left=$newline${left#*"$newline"}
        [ "$size" != "${is_size##*:}" ] || [ -L "$path" ] || [ ! -f "$path" ] || set -- "$@" "$path"
        ;;
    esac
  done
  [ $# = 0 ] || digests=$newline$(bounded_digests "$@")$newline
}

# Owners may replace a file by a FIFO or a link to /dev/zero at any moment: time and work are bounded.
bounded_digests() {
  ulimit -t 10
  exec timeout 10 sha256sum -- "$@" 2>/dev/null
}

# dir PATH OWNER GROUP MODE
check_dir() {
  path=$1 owner=$2 group=$3 mode=$4
  if [ -L "$path" ]; then
    blocked 'a symbolic link is in the way'
  elif [ -d "$path" ]; then
    compare_owner_and_mode
  elif [ -e "$path" ]; then
    blocked 'something else is in the way'
  else
    differs missing
  fi
}

change_dir() {
  [ -z "$blocker" ] || fail "$blocker"
  find_keeper
  check_owner
  [ -d "$path" ] || with_rights mkdir -m 0700 -- "$path" || exit
  give_dir &&
    # Two leading zeros make chmod remove an inherited set-group-ID bit from a directory.
    with_rights chmod "00$mode" -- "$path"
}

# Only root can give a directory away. It works from the parent directory, which cannot be swapped then and must be the
# keeper's own: whatever the name means there is the keeper's already.
give_dir() (
  cd -P -- "$above/" || exit
  [ -z "$keeper" ] || [ "$(stat -c %u .)" = "$keeper" ] || fail "the directory above it does not belong to $keeper_name"
  chown -h "$owner:$group" "./${path##*/}"
)

# file PATH OWNER GROUP MODE SIZE SHA256 KEY [SEED UNIT]
# A file that differs in anything is rewritten: one way to write, and never half of the desired state. A seeded file
# keeps existing content and replaces no link or other kind of file. UNIT reads the file when it starts: a running one
# must be restarted when the content changes.
check_file() {
  path=$1 owner=$2 group=$3 mode=$4 size=$5 digest=$6 seed=$8 restarts=$9
  temp=${path%/*}/.clm-$7 kept=''
  if [ -n "$seed" ] && [ -L "$path" ]; then
    blocked 'a symbolic link is in the way'
  elif [ -L "$path" ]; then
    differs 'a symbolic link'
  elif [ -d "$path" ]; then
    blocked 'a directory is in the way'
  elif [ ! -e "$path" ]; then
    differs missing
  elif [ -n "$seed" ] && [ ! -f "$path" ]; then
    blocked 'not a regular file is in the way'
  elif [ ! -f "$path" ]; then
    differs 'not a regular file'
  else
    compare_owner_and_mode
    kept=$seed
    if [ -n "$kept" ] || has_desired_content; then restarts=''; else differs content; fi
  fi
  for leftover in "$temp".*; do
    [ ! -f "$leftover" ] || differs 'a leftover of an interrupted run'
  done
  [ -n "$kept" ] || wants=$differences
  [ "$phase" != check ] || restarting="$restarting $restarts "
}

# Without a digest in the list, as after a change, reads this file alone.
has_desired_content() {
  [ "$is_size" = "$size" ] || return 1
  if [ "$phase" = check ]; then
    case $digests in
      *"$newline$digest  $path$newline"*) return 0 ;;
      *"  $path$newline"*) return 1 ;;
    esac
  fi
  [ "$(timeout 10 head -c "$((size + 1))" -- "$path" 2>/dev/null | sha256sum)" = "$digest  -" ]
}

change_file() {
  [ -n "$kept" ] || has_content || fail 'it changed while clm was comparing it'
  [ -z "$blocker" ] || fail "$blocker"
  find_keeper
  [ -d "$above/" ] || fail "there is no directory $above"
  check_owner
  with_rights rm -f -- "$temp".*
  [ -L "$path" ] || [ ! -d "$path" ] || fail 'a directory is in the way'
  if [ -n "$kept" ] && [ "$is_uid" = "${keeper:-$is_uid}" ]; then
    with_rights chown -h "$owner:$group" "$path" &&
      with_rights chmod "$mode" "$path"
    return
  fi
  # mktemp makes it 0600.
  temp=$(with_rights mktemp "$temp.XXXXXX") || exit
  trap 'with_rights rm -f -- "$temp"' EXIT
  if [ -n "$kept" ]; then
    # Root gives away no file in the keeper's directory: it may be a link to root's own. The keeper makes a copy.
    with_rights dd if="$path" of="$temp" bs=65536 conv=fsync status=none || exit
  else
    receive | with_rights dd of="$temp" bs=65536 conv=fsync status=none || exit
    [ "$(with_rights cat -- "$temp" | sha256sum)" = "$digest  -" ] || fail 'the content arrived incomplete'
  fi
  with_rights chown -h "$owner:$group" "$temp" &&
    with_rights chmod "$mode" "$temp" || exit
  # The mv of busybox takes a link to a directory for the directory.
  [ ! -L "$path" ] || [ ! -d "$path" ] || with_rights rm -f -- "$path"
  [ -z "$restarts" ] || restart_is_due "$restarts" || exit
  with_rights mv -fT -- "$temp" "$path" || exit
  trap - EXIT
  with_rights sync -- "$above/"
}

# absent_path PATH
check_absent_path() {
  path=$1
  [ ! -e "$path" ] && [ ! -L "$path" ] || differs present
}

change_absent_path() {
  find_keeper
  remove "$path"
}

# Does not cross mounts where rm supports that, and follows no link.
remove() {
  if rm -f --one-file-system 2>/dev/null; then
    with_rights rm -rf --one-file-system -- "$1"
  else
    with_rights rm -rf -- "$1"
  fi
}
