# dir, file and the absence of a path.

# read_files SIZE PATH...: sets `stats` and `digests` for all paths with two processes. Used only by the check phase.
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
        found=${left%%"$newline"*}
        left=$newline${left#*"$newline"}
        [ "$size" != "${found##*:}" ] || [ -L "$path" ] || [ ! -f "$path" ] || set -- "$@" "$path"
        ;;
    esac
  done
  [ $# = 0 ] || digests=$newline$(bounded_digests "$@")$newline
}

# An owner can replace a file by a FIFO or a link to /dev/zero at any moment: this limits time and CPU.
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
  find_dir_owner
  require_owner
  [ -d "$path" ] || as_dir_owner mkdir -m 0700 -- "$path" || exit
  chown_dir &&
    # Two leading zeros make chmod remove an inherited set-group-ID bit from a directory.
    as_dir_owner chmod "00$mode" -- "$path"
}

# Only root may chown. It works inside the parent directory, which then cannot be replaced and must belong to dir_owner:
# whatever has the name in there is already under that user's control.
chown_dir() (
  cd -P -- "$parent/" || exit
  [ -z "$dir_owner" ] || [ "$(stat -c %u .)" = "$dir_owner" ] || fail "the directory above it does not belong to $dir_owner_name"
  chown -h "$owner:$group" "./${path##*/}"
)

# file PATH OWNER GROUP MODE SIZE SHA256 KEY [SEED UNIT]
# A file that differs in anything is replaced as a whole, so it is never half changed. A seeded file keeps its existing
# content and replaces no link or other kind of file. UNIT reads the file when it starts: when the content changes, a
# running UNIT must be restarted.
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
  [ -n "$kept" ] || needs_content=$differences
  [ "$phase" != check ] || restarting="$restarting $restarts "
}

# Reads the file when `read_files` has no digest of it, as in the change phase.
has_desired_content() {
  [ "$actual_size" = "$size" ] || return 1
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
  find_dir_owner
  [ -d "$parent/" ] || fail "there is no directory $parent"
  require_owner
  as_dir_owner rm -f -- "$temp".*
  [ -L "$path" ] || [ ! -d "$path" ] || fail 'a directory is in the way'
  if [ -n "$kept" ] && [ "$actual_uid" = "${dir_owner:-$actual_uid}" ]; then
    as_dir_owner chown -h "$owner:$group" "$path" &&
      as_dir_owner chmod "$mode" "$path"
    return
  fi
  # mktemp creates it with mode 0600.
  temp=$(as_dir_owner mktemp "$temp.XXXXXX") || exit
  trap 'as_dir_owner rm -f -- "$temp"' EXIT
  if [ -n "$kept" ]; then
    # Root must not chown a file in a user's directory: it may be a hard link to root's own. The user makes a copy.
    as_dir_owner dd if="$path" of="$temp" bs=65536 conv=fsync status=none || exit
  else
    receive | as_dir_owner dd of="$temp" bs=65536 conv=fsync status=none || exit
    [ "$(as_dir_owner cat -- "$temp" | sha256sum)" = "$digest  -" ] || fail 'the content arrived incomplete'
  fi
  as_dir_owner chown -h "$owner:$group" "$temp" &&
    as_dir_owner chmod "$mode" "$temp" || exit
  # busybox mv would move the file into the directory that a link points to.
  [ ! -L "$path" ] || [ ! -d "$path" ] || as_dir_owner rm -f -- "$path"
  [ -z "$restarts" ] || mark_restart_due "$restarts" || exit
  as_dir_owner mv -fT -- "$temp" "$path" || exit
  trap - EXIT
  as_dir_owner sync -- "$parent/"
}

# absent_path PATH
check_absent_path() {
  path=$1
  [ ! -e "$path" ] && [ ! -L "$path" ] || differs present
}

change_absent_path() {
  find_dir_owner
  remove "$path"
}

# Follows no link, and does not cross mounts where rm supports that.
remove() {
  if rm -f --one-file-system 2>/dev/null; then
    as_dir_owner rm -rf --one-file-system -- "$1"
  else
    as_dir_owner rm -rf -- "$1"
  fi
}
