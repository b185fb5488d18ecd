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

# VERSION PROGRAM DIGEST, and the package on stdin.
install() {
  version=$1 program=$2 digest=$3
  before=$(target_of)
  [ "$before" != foreign ] || { echo foreign; return; }
  mkdir -p -- "$place" "${launcher%/*}"
  new=$place/.new old=$place/.old
  rm -rf -- "$new" "$new.tgz" "$old"
  trap 'rm -rf -- "$new" "$new.tgz" "$old"' EXIT
  cat >"$new.tgz"
  arrived=$(sha512sum <"$new.tgz")
  [ "${arrived%% *}" = "$digest" ] || { echo damaged; return; }
  mkdir -- "$new"
  tar -xzf "$new.tgz" -C "$new" --strip-components=1 --no-same-owner
  "$new/$program" --version >/dev/null
  [ ! -e "$place/$version" ] || mv -T -- "$place/$version" "$old"
  mv -T -- "$new" "$place/$version"
  lead_to "$place/$version/$program"
  echo "installed $before"
}

# TARGET, or nothing: as it was before.
switch() {
  if [ -x "$1" ]; then lead_to "$1"; fi
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
