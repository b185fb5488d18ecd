# Codex beside what else the agent's user has. POSIX sh, run as that user: install, switch or prune. What is there stays until the
# new one is whole, and said its version.
set -eu
umask 022
action=$1 place=$2 launcher=$3
shift 3

# What the launcher leads to; nothing when there is none. One that is not ours is nobody's to change.
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

# VERSION PROGRAM DIGEST SIZE, and on stdin the package, and then a word to go on: who was interrupted does not say it.
install() {
  version=$1 program=$2 digest=$3 size=$4
  [ "$(target_of)" != foreign ] || { echo foreign; return; }
  mkdir -p -- "$place" "${launcher%/*}"
  # One that was interrupted may be at its end.
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
  # Codex makes itself a home for whatever it is asked.
  mkdir -- "$home"
  CODEX_HOME=$home "$new/$program" --version >/dev/null
  echo ready
  read -r go || go=
  [ "$go" = go ] || { echo interrupted; return; }
  [ ! -e "$place/$version" ] || mv -T -- "$place/$version" "$old"
  mv -T -- "$new" "$place/$version"
  lead_to "$place/$version/$program"
  echo "installed $before"
}

# TARGET, or nothing: as it was before.
switch() {
  if [ -n "$1" ]; then
    [ -x "$1" ] || { echo gone; return; }
    lead_to "$1"
  fi
  case $1,$(target_of) in ,"$place"/*) rm -f -- "$launcher" ;; esac
  echo switched
}

# VERSION: the others have had their time.
prune() {
  case $(target_of) in "$place/$1"/*) ;; *) echo pruned; return ;; esac
  for other in "$place"/*; do
    [ "$other" = "$place/$1" ] || rm -rf -- "$other"
  done
  echo pruned
}

"$action" "$@"
