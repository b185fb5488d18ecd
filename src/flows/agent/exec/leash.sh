# Looks whose accounts these are, and holds what is run in them on a leash: when nobody is there any more, because clm left or
# the connection died, the host ends all of it. POSIX sh, run as root. Each answer is a line that begins with the nonce.

LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH

say() {
  printf '%s %s\n' "$nonce" "$*"
}

# look USER COMMENT DATA ENV: an account that clm did not make is somebody else's, whatever its name.
look() {
  user=$1 comment=$2 data=$3 env=$4
  account=$(getent passwd "$user") || { say no-user && return; }
  IFS=: read -r _ _ _ _ is_comment _ <<END
$account
END
  if [ -n "$comment" ] && [ "$is_comment" != "$comment" ]; then
    say stranger
  # clm writes a plain file: a link, or a pipe on which a command would wait, is the agent's own doing.
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

# hold SIGN UNITS: no unit of ours begins when the sign has gone, so none can begin after they were ended.
hold() {
  # Who is gone hears nothing of it, and all has to end the same.
  trap '' PIPE
  mkdir -p "${1%/*}" && : >"$1" || exit
  say held
  beat
  finished=$?
  rm -f "$1"
  [ "$finished" = 0 ] || { say lost; systemctl stop "$2"; }
  say let-go
}
