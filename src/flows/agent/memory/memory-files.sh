# Runs with the rights of the agent's user: a link planted by that user leads nowhere that the user could not go.
# Answers are lines on stdout; the text to write comes on stdin.
umask 077
largest=1048576

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
      # Opened once: the agent may replace the file meanwhile.
      (
        exec 8<"$path" && printf 'file %s ' "$(stat -L -c '%a %U %Y %s' /dev/fd/8)" &&
          head -c "$largest" <&8 | base64 -w 0 && echo
      ) || echo unreadable
    fi
  done
}

# take_turn PATH LOCK EXPECTED: the agent's own lock, or the directory for a file it does not lock, so that two clms never
# write at once. The file must have the digest the user read, or be `absent`.
take_turn() {
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
    is=absent
  elif [ -f "$path" ]; then
    is=$(sha256sum <"$path") || exit
    is=${is%% *}
  else
    answer other
  fi
  [ "$is" = "$expected" ] || answer conflict "$is"
}

# write PATH LOCK EXPECTED DIGEST
write() {
  digest=$4
  take_turn "$@"
  # Left by a clm that was killed: with the lock held, no other one writes this file.
  temp=$dir/.mem_clm-${path##*/}
  rm -f -- "$temp".??????
  temp=$(mktemp "$temp.XXXXXX") || exit
  trap 'rm -f -- "$temp"' EXIT
  dd of="$temp" bs=65536 conv=fsync status=none || exit
  [ "$(sha256sum <"$temp")" = "$digest  -" ] || answer torn
  mv -fT -- "$temp" "$path" || exit
  trap - EXIT
  sync -- "$dir/"
  answer 'done'
}

# delete PATH LOCK EXPECTED
delete() {
  take_turn "$@"
  rm -f -- "$path" || exit
  sync -- "$dir/"
  answer 'done'
}

"$@"
