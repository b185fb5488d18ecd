# POSIX sh, run as root: ends every unit when clm or its connection is gone. Answers begin with the nonce.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH

say() {
  printf '%s %s\n' "$nonce" "$*"
}

# check_account USER COMMENT DATA ENV: an account that clm did not make is not the agent's, whatever its name.
check_account() {
  user=$1 comment=$2 data=$3 env=$4
  account=$(getent passwd "$user") || { say no-user && return; }
  IFS=: read -r _ _ _ _ is_comment _ <<END
$account
END
  if [ -n "$comment" ] && [ "$is_comment" != "$comment" ]; then
    say stranger
  # clm writes a plain file: the agent itself made a link, or a pipe on which a command would wait.
  elif [ -L "$data" ] || [ -L "$env" ]; then
    say link
  elif [ -e "$env" ] && [ ! -f "$env" ]; then
    say other
  elif [ -s "$env" ]; then
    say env
  else
    say bare
  fi
}

# hold SIGN UNITS: no unit starts once the sign file is gone, so none can start after they were ended.
hold() {
  # A closed pipe must not stop the cleanup.
  trap '' PIPE
  mkdir -p "${1%/*}" && : >"$1" || exit
  say held
  beat
  finished=$?
  rm -f "$1"
  [ "$finished" = 0 ] || { say lost; systemctl stop "$2"; }
  say let-go
}
