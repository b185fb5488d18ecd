# Sends a job's log from byte `offset` until the job has ended, then its result. The script that carries it sets nonce,
# unit, log and offset, and ends with `follow`.

LC_ALL=C
export LC_ALL

# Also called without news: the failed write ends us when there is no reader any more.
tell() {
  printf '%s %s\n' "$nonce" "$*" || exit 1
}

follow() {
  exec </dev/null
  # Read before the log, so that nothing can be written between the last read and the end.
  while state=$(systemctl show --property ActiveState,SubState,Result,ExecMainCode,ExecMainStatus -- "$unit"); do
    tell_log
    is_running || break
    sleep 0.3
  done
  tell end $state
}

tell_log() {
  while :; do
    size=$(stat -c %s -- "$log" 2>/dev/null || echo 0)
    part=$((size - offset))
    [ "$part" -le 49152 ] || part=49152
    [ "$part" -gt 0 ] || break
    tell log "$(tail -c "+$((offset + 1))" -- "$log" | head -c "$part" | base64 | tr -d '\n')"
    offset=$((offset + part))
  done
  tell beat
}

is_running() {
  case $state in
    *SubState=exited* | *ActiveState=inactive* | *ActiveState=failed*) return 1 ;;
  esac
}
