# POSIX sh, run as root: ends all units when clm or its connection is gone. Each line of output begins with the nonce.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH

say() {
  printf '%s %s\n' "$nonce" "$*"
}

# check_account USER COMMENT DATA ENV: COMMENT tells an account that clm made from another of the same name.
check_account() {
  user=$1 comment=$2 data=$3 env=$4
  account=$(getent passwd "$user") || { say no-user && return; }
  IFS=: read -r _ _ _ _ actual_comment _ <<END
$account
END
  if [ -n "$comment" ] && [ "$actual_comment" != "$comment" ]; then
    say foreign-user
  # clm writes a regular file, so the agent made this: a link, or a pipe that would block a command.
  elif [ -L "$data" ] || [ -L "$env" ]; then
    say link
  elif [ -e "$env" ] && [ ! -f "$env" ]; then
    say other
  elif [ -s "$env" ]; then
    say env
  else
    say no-env
  fi
}

# hold FILE UNITS: units start only while FILE exists, so none can start after they were stopped.
hold() {
  # A closed pipe must not stop the cleanup.
  trap '' PIPE
  mkdir -p "${1%/*}" && : >"$1" || exit
  say held
  beat
  finished=$?
  rm -f "$1"
  [ "$finished" = 0 ] || { say lost; systemctl stop "$2"; }
  say released
}
