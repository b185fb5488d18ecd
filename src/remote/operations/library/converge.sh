# The host's side of `converge`: checks every operation, waits for `go`, then changes what differs. POSIX sh, for dash,
# bash and busybox. The generated script sets `nonce`, defines `operations` (calls of `op`) and `files` (a call of
# `read_files`), and calls `converge` on its last line, so a script that was cut short does nothing.
# Each kind of operation has a check_KIND, which names its arguments and calls `differs`, and a change_KIND, which runs
# after it in a subshell and uses those names. Reports are written to fd 3, file contents are read from fd 4.

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
  find_own_uid
  phase=check
  files
  operations
  report ready
  read -r answer sent <&4
  [ "$answer" = go ] || exit 0
  acquire_lock
  phase=change
  operations
  report end
}

# Sets `own_uid` to the uid of this script. Reading /proc takes no process, unlike `id`.
find_own_uid() {
  while read -r field _ own_uid _; do
    [ "$field" != Uid: ] || return 0
  done </proc/self/status
}

# One run at a time: an operation may still be running after its client lost the connection. It and the root processes
# it started hold the lock on fd 9 until they end. Only root can open the lock file. (CLM_LOCK is for tests.)
acquire_lock() {
  lock=${CLM_LOCK:-/run/clm/lock}
  command -v flock >/dev/null && mkdir -p -m 0700 "${lock%/*}" 2>/dev/null && touch "$lock" 2>/dev/null || return 0
  chmod 0600 "$lock"
  exec 9>"$lock"
  flock -w 60 9 || { report busy; exit 0; }
}

# The nonce marks our lines among other output. When nobody reads any more, the script ends here, between operations.
report() {
  printf '%s %s\n' "$nonce" "$*" >&3 || exit 1
}

op() {
  index=$1 kind=$2
  shift 2
  check "$@"
  if [ "$phase" = check ]; then
    [ -z "$needs_content" ] || report "$index needs-content"
    if [ -n "$differences" ]; then report "$index would-change $differences"; else report "$index ok $note"; fi
    return
  fi
  # The content was sent in case an earlier operation made it necessary: skip it.
  if [ -z "$needs_content" ] && has_content; then receive >/dev/null; fi
  if [ -n "$differences" ]; then change "$@"; else report "$index ok $note"; fi
}

check() {
  differences='' needs_content='' note='' blocker=''
  "check_$kind" "$@"
}

change() {
  initial=$differences
  attempt "change_$kind" "$@"
  # The change may have added or removed users.
  cached_user=''
  [ "$status" != 0 ] || prove "$@"
  [ "$status" != 0 ] || { report "$index changed $initial"; return; }
  case $status,$why in
    124,*) report "$index cause timeout" ;;
    *'No space left on device'* | *'Disk quota exceeded'*) report "$index cause full" ;;
  esac
  printf '%s\n' "$why" | while IFS= read -r line; do report "$index why $line"; done
  report "$index failed $initial"
  report end
  exit 0
}

# Runs a command. Sets `why` to the end of its output, and `status` to its exit code.
attempt() {
  why=$({ ("$@") 2>&1 3>&-; echo " $?"; } | tail -c 4000)
  status=${why##* }
  why=${why% *}
  why=${why%"$newline"}
}

# Checks again after a change: the report states the result, not the attempt.
prove() {
  proving=yes
  check "$@"
  proving=''
  [ -z "$differences" ] || { status=1 why="it was changed and still differs: $differences"; }
}

differs() {
  differences=$differences${differences:+$tab}$*
}

# A difference that clm refuses to change.
blocked() {
  blocker=$*
  differs "$@"
}

# For operations that always run, such as a command without `creates`. A check after the change finds no difference.
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

# Copies exactly `size` bytes of the sent contents to stdout.
receive() {
  dd bs=65536 iflag=fullblock,count_bytes count="$size" status=none <&4
}
