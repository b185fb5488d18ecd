# Sends a job's log from byte `offset` until the job has ended, then its result. The caller sets nonce, unit, log and
# offset.

LC_ALL=C
export LC_ALL

# Called several times a second: when nobody reads any more, the failed write ends the script.
report() {
  printf '%s %s\n' "$nonce" "$*" || exit 1
}

follow() {
  exec </dev/null
  # The state is read before the log: once the job has ended, no more can be written after the last read.
  while state=$(systemctl show --property ActiveState,SubState,Result,ExecMainCode,ExecMainStatus -- "$unit"); do
    report_log
    is_running || break
    sleep 0.3
  done
  report end $state
}

report_log() {
  while :; do
    size=$(stat -c %s -- "$log" 2>/dev/null || echo 0)
    part=$((size - offset))
    [ "$part" -le 49152 ] || part=49152
    [ "$part" -gt 0 ] || break
    report log "$(tail -c "+$((offset + 1))" -- "$log" | head -c "$part" | base64 | tr -d '\n')"
    offset=$((offset + part))
  done
  report beat
}

is_running() {
  case $state in
    *SubState=exited* | *ActiveState=inactive* | *ActiveState=failed*) return 1 ;;
  esac
}
