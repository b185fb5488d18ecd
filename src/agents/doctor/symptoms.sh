# What the doctor probes in addition to the status. Used with proof.sh.

# The journal and errors since its start; in a crash loop of the last ten minutes, as the reason is in an earlier run.
probe_symptoms() {
  now=$(date +%s)
  probe_unit
  zone=$(readlink -f /etc/localtime)
  say zone "$(date +%z) ${zone#/usr/share/zoneinfo/}"
  [ -n "$started" ] || return 0
  find_start
  [ -n "$began" ] || return 0
  since=$began
  if [ "$restarts" -gt 0 ] && [ $((now - ${began%.*})) -lt 60 ]; then since=$((now - 600)); fi
  journal_since "$since" 200 short-unix | say_lines journal
  log_since "$since" errors.log | say_lines error
  # The last out-of-memory kill in the last 24 hours.
  journal_since "$((now - 86400))" 1 short-unix --grep 'oom-kill|OOM killer' | say_lines oom
}
