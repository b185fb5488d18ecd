# Runs as the agent's user, so a link planted by the agent gives access to nothing new. Prints results as lines on
# stdout, and reads the text to write from stdin.
umask 077
max_bytes=1048576

answer() {
  printf '%s\n' "$*"
  exit 0
}

# read_files PATH...
read_files() {
  for path; do
    if [ -L "$path" ]; then
      echo link
    elif [ ! -e "$path" ]; then
      echo absent
    elif [ ! -f "$path" ]; then
      echo other
    else
      # Opened once, because the agent may replace the file in between.
      (
        exec 8<"$path" && printf 'file %s ' "$(stat -L -c '%a %U %Y %s' /dev/fd/8)" &&
          head -c "$max_bytes" <&8 | base64 -w 0 && echo
      ) || echo unreadable
    fi
  done
}

# lock_and_compare PATH LOCK EXPECTED: takes the agent's own lock, or locks the directory when the agent has none, so
# that two clms never write at once. EXPECTED is the digest of what the user read, or `absent`.
lock_and_compare() {
  path=$1 lock=$2 expected=$3
  dir=${path%/*}
  [ ! -L "$dir" ] || answer link "$dir"
  [ -d "$dir" ] || mkdir -m 0700 -- "$dir" || exit
  if [ -n "$lock" ]; then
    [ ! -L "$lock" ] || answer link "$lock"
    exec 9>>"$lock"
  else
    exec 9<"$dir"
  fi
  flock -w 10 9 || answer busy
  if [ -L "$path" ]; then
    answer link "$path"
  elif [ ! -e "$path" ]; then
    actual=absent
  elif [ -f "$path" ]; then
    actual=$(sha256sum <"$path") || exit
    actual=${actual%% *}
  else
    answer other
  fi
  [ "$actual" = "$expected" ] || answer conflict "$actual"
}

# write PATH LOCK EXPECTED DIGEST
write() {
  digest=$4
  lock_and_compare "$@"
  # Left by a killed clm: while we hold the lock, nobody else writes such a file.
  temp=$dir/.mem_clm-${path##*/}
  rm -f -- "$temp".??????
  temp=$(mktemp "$temp.XXXXXX") || exit
  trap 'rm -f -- "$temp"' EXIT
  dd of="$temp" bs=65536 conv=fsync status=none || exit
  [ "$(sha256sum <"$temp")" = "$digest  -" ] || answer incomplete
  mv -fT -- "$temp" "$path" || exit
  trap - EXIT
  sync -- "$dir/"
  answer 'done'
}

# delete PATH LOCK EXPECTED
delete() {
  lock_and_compare "$@"
  rm -f -- "$path" || exit
  sync -- "$dir/"
  answer 'done'
}

"$@"
