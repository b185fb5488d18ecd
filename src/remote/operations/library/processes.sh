# Ends every process of a user.

# end_processes UID GID: asks, waits, then kills. A list of processes misses one that forks on and on (seen: one look in seven), and is old
# before they can be killed one by one. `kill -1` by a process of that user is one pass of the kernel over all the others, and while it
# lasts none of them can fork. So it is done also when no process was seen.
end_processes() {
  [ "$1" -gt 0 ] || return 1
  if has_processes "$1"; then
    signal_all "$1" "$2" TERM
    left=40
    while [ "$left" -gt 0 ] && has_processes "$1"; do
      sleep 0.1
      left=$((left - 1))
    done
  fi
  left=40
  while [ "$left" -gt 0 ]; do
    signal_all "$1" "$2" KILL
    has_processes "$1" || return 0
    sleep 0.1
    left=$((left - 1))
  done
  return 1
}

# signal_all UID GID SIGNAL
signal_all() {
  setpriv --reuid "$1" --regid "$2" --clear-groups --no-new-privs -- /bin/sh -c "kill -$3 -1" 2>/dev/null
}

# A zombie is none. One that ended between the list and the look may have left a child that is not in the list: then the answer is yes.
has_processes() {
  for process in $(stat -c %u:%n /proc/[0-9]* 2>/dev/null); do
    case $process in "$1":*) ;; *) continue ;; esac
    read -r stat 2>/dev/null <"${process#*:}/stat" || return 0
    case ${stat##*) } in Z* | X*) ;; *) return 0 ;; esac
  done
  return 1
}
