# POSIX sh, run as the agent's user. The old version stays until the new one is complete and has printed its version.
set -eu
umask 022
action=$1 place=$2 launcher=$3
shift 3

# The target of the launcher, if there is one. A launcher that clm did not make is not changed.
target_of() {
  [ -e "$launcher" ] || [ -L "$launcher" ] || return 0
  target=$(readlink -- "$launcher" || true)
  case $target in
    "$place"/*) echo "$target" ;;
    *) echo foreign ;;
  esac
}

lead_to() {
  ln -sfn -- "$1" "$launcher.new"
  mv -fT -- "$launcher.new" "$launcher"
}

# VERSION PROGRAM DIGEST SIZE HOME_VARIABLE; stdin: the package, then "go", which an interrupted clm does not send.
install() {
  version=$1 program=$2 digest=$3 size=$4 variable=$5
  [ "$(target_of)" != foreign ] || { echo foreign; return; }
  mkdir -p -- "$place" "${launcher%/*}"
  # An interrupted installation may still be ending.
  exec 9>"$place/.lock"
  flock -w 120 9 || { echo busy; return; }
  before=$(target_of)
  new=$place/.new old=$place/.old home=$place/.home
  rm -rf -- "$new" "$new.tgz" "$old" "$home"
  trap 'rm -rf -- "$new" "$new.tgz" "$old" "$home"' EXIT
  trap 'exit 1' HUP INT TERM
  head -c "$size" >"$new.tgz"
  arrived=$(sha512sum <"$new.tgz")
  [ "${arrived%% *}" = "$digest" ] || { echo damaged; return; }
  mkdir -- "$new"
  tar -xzf "$new.tgz" -C "$new" --strip-components=1 --no-same-owner
  # The program creates the directory of its settings, whatever it is asked.
  mkdir -- "$home"
  env "$variable=$home" "$new/$program" --version >/dev/null
  echo ready
  read -r go || go=
  [ "$go" = go ] || { echo interrupted; return; }
  [ ! -e "$place/$version" ] || mv -T -- "$place/$version" "$old"
  mv -T -- "$new" "$place/$version"
  lead_to "$place/$version/$program"
  echo "installed $before"
}

# TARGET: the former target; without one, removes the launcher.
switch() {
  if [ -n "$1" ]; then
    [ -x "$1" ] || { echo gone; return; }
    lead_to "$1"
  fi
  case $1,$(target_of) in ,"$place"/*) rm -f -- "$launcher" ;; esac
  echo switched
}

# VERSION: removes the others.
prune() {
  case $(target_of) in "$place/$1"/*) ;; *) echo pruned; return ;; esac
  for other in "$place"/*; do
    [ "$other" = "$place/$1" ] || rm -rf -- "$other"
  done
  echo pruned
}

"$action" "$@"
