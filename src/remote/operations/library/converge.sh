# The host's side of `converge`: checks every operation, waits for a word, then changes what differs.
# POSIX sh; dash, bash and busybox run it. The script that carries it sets `nonce`, defines `operations` as calls of
# `op` and `files` as one of `read_files`, and ends with `converge`: a script cut short does nothing.
# Each kind of operation has a check, which names its arguments and calls `differs`, and a change, which runs in a
# subshell after the check and finds those names. Answers go out on fd 3, contents come in on fd 4.

standard_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
PATH=$PATH:$standard_path
export LC_ALL PATH
newline='
'
tab='	'

converge() {
  exec 3>&1 4<&0 </dev/null >/dev/null
  cd / && umask 022
  find_me
  phase=check
  files
  operations
  tell ready
  read -r word sent <&4
  [ "$word" = go ] || exit 0
  take_turn
  phase=change
  operations
  tell end
}

# Sets `me` to our own uid. The shell reads its own file: no process.
find_me() {
  while read -r field _ me _; do
    [ "$field" != Uid: ] || return 0
  done </proc/self/status
}

# One at a time: a lost client may have left an operation at work. It and all it started for root hold the lock on fd 9
# until they end, however they end. No other user can open the lock and block us. (CLM_LOCK is for tests.)
take_turn() {
  lock=${CLM_LOCK:-/run/clm/lock}
  command -v flock >/dev/null && mkdir -p -m 0700 "${lock%/*}" 2>/dev/null && touch "$lock" 2>/dev/null || return 0
  chmod 0600 "$lock"
  exec 9>"$lock"
  flock -w 60 9 || { tell busy; exit 0; }
}

# The nonce marks our lines among other output. Without a reader we end here, always between two operations.
tell() {
  printf '%s %s\n' "$nonce" "$*" >&3 || exit 1
}

op() {
  index=$1 kind=$2
  shift 2
  check "$@"
  if [ "$phase" = check ]; then
    [ -z "$wants" ] || tell "$index wants"
    if [ -n "$differences" ]; then tell "$index would-change $differences"; else tell "$index ok $note"; fi
    return
  fi
  # Sent because it might have been needed by now.
  if [ -z "$wants" ] && has_content; then receive >/dev/null; fi
  if [ -n "$differences" ]; then change "$@"; else tell "$index ok $note"; fi
}

check() {
  differences='' wants='' note='' blocker=''
  "check_$kind" "$@"
}

change() {
  was=$differences
  attempt "change_$kind" "$@"
  # Users may have come or gone.
  known=''
  [ "$status" != 0 ] || prove "$@"
  [ "$status" != 0 ] || { tell "$index changed $was"; return; }
  case $status,$why in
    124,*) tell "$index cause timeout" ;;
    *'No space left on device'* | *'Disk quota exceeded'*) tell "$index cause full" ;;
  esac
  printf '%s\n' "$why" | while IFS= read -r line; do tell "$index why $line"; done
  tell "$index failed $was"
  tell end
  exit 0
}

# Keeps the end of a command's output in `why` and its exit code, the last word of the output, in `status`.
attempt() {
  why=$({ ("$@") 2>&1 3>&-; echo " $?"; } | tail -c 4000)
  status=${why##* }
  why=${why% *}
  why=${why%"$newline"}
}

# Checks the change again, so that the report says what is there and not what was done.
prove() {
  proving=yes
  check "$@"
  proving=''
  [ -z "$differences" ] || { status=1 why="it was changed and still differs: $differences"; }
}

differs() {
  differences=$differences${differences:+$tab}$*
}

# A difference that no change removes.
blocked() {
  blocker=$*
  differs "$@"
}

# A difference that exists before every change and cannot be seen after it: a command to run.
always_differs() {
  [ -n "$proving" ] || differs "$@"
}

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

has_content() {
  case " $sent " in *" $index "*) ;; *) return 1 ;; esac
}

# The next content, and not one byte more.
receive() {
  dd bs=65536 iflag=fullblock,count_bytes count="$size" status=none <&4
}
