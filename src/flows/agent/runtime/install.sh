# POSIX sh, run as the agent's user. Keeps the old version until the new one is complete and has printed its version.
set -eu
umask 022
action=$1 directory=$2 launcher=$3
shift 3

# Prints the target of the launcher, if any, or `foreign` for a launcher that clm did not make and must not change.
launcher_target() {
  [ -e "$launcher" ] || [ -L "$launcher" ] || return 0
  target=$(readlink -- "$launcher" || true)
  case $target in
    "$directory"/*) echo "$target" ;;
    *) echo foreign ;;
  esac
}

set_launcher() {
  ln -sfn -- "$1" "$launcher.new"
  mv -fT -- "$launcher.new" "$launcher"
}

# install VERSION PROGRAM DIGEST SIZE HOME_VARIABLE. stdin: the package, then "go" unless clm was interrupted.
install() {
  version=$1 program=$2 digest=$3 size=$4 variable=$5
  [ "$(launcher_target)" != foreign ] || { echo foreign; return; }
  mkdir -p -- "$directory" "${launcher%/*}"
  # An interrupted installation may still be cleaning up.
  exec 9>"$directory/.lock"
  flock -w 120 9 || { echo busy; return; }
  before=$(launcher_target)
  new=$directory/.new old=$directory/.old home=$directory/.home
  rm -rf -- "$new" "$new.tgz" "$old" "$home"
  trap 'rm -rf -- "$new" "$new.tgz" "$old" "$home"' EXIT
  trap 'exit 1' HUP INT TERM
  head -c "$size" >"$new.tgz"
  arrived=$(sha512sum <"$new.tgz")
  [ "${arrived%% *}" = "$digest" ] || { echo damaged; return; }
  mkdir -- "$new"
  tar -xzf "$new.tgz" -C "$new" --strip-components=1 --no-same-owner
  # Even --version creates the settings directory: redirect it.
  mkdir -- "$home"
  env "$variable=$home" "$new/$program" --version >/dev/null
  echo ready
  read -r go || go=
  [ "$go" = go ] || { echo interrupted; return; }
  [ ! -e "$directory/$version" ] || mv -T -- "$directory/$version" "$old"
  mv -T -- "$new" "$directory/$version"
  set_launcher "$directory/$version/$program"
  echo "installed $before"
}

# switch TARGET: points the launcher at TARGET; removes the launcher when it is empty.
switch() {
  if [ -n "$1" ]; then
    [ -x "$1" ] || { echo gone; return; }
    set_launcher "$1"
  fi
  case $1,$(launcher_target) in ,"$directory"/*) rm -f -- "$launcher" ;; esac
  echo switched
}

# prune VERSION: removes all other versions.
prune() {
  case $(launcher_target) in "$directory/$1"/*) ;; *) echo pruned; return ;; esac
  for other in "$directory"/*; do
    [ "$other" = "$directory/$1" ] || rm -rf -- "$other"
  done
  echo pruned
}

"$action" "$@"
