# The symptoms that the doctor reads beyond the status. Used with the functions of proof.sh.

# The journal and errors since its start. In a crash loop the reason is in the run before: then of the last ten minutes.
probe_symptoms() {
  now=$(date +%s)
  probe_unit
  zone=$(readlink -f /etc/localtime)
  say zone "$(date +%z) ${zone#/usr/share/zoneinfo/}"
  [ -n "$started" ] || return 0
  probe_began
  [ -n "$began" ] || return 0
  since=$began
  if [ "$restarts" -gt 0 ] && [ $((now - ${began%.*})) -lt 60 ]; then since=$((now - 600)); fi
  journal_since "$since" 200 short-unix | pieces journal
  log_since "$since" errors.log | pieces error
  # The last time the kernel killed it for lack of memory.
  journal_since "$((now - 86400))" 1 short-unix --grep 'oom-kill|OOM killer' | pieces oom
}
