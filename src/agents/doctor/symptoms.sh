# The symptoms that the doctor reads beyond the status. Used with the functions of proof.sh.

# The journal and errors since its start. In a crash loop the reason is in the run before: then of the last ten minutes.
probe_symptoms() {
  now=$(date +%s) started='' restarts=0 result=''
  while IFS='=' read -r property value; do
    case $property in
      ExecMainStartTimestamp) started=$value ;;
      NRestarts) restarts=$value ;;
      Result) result=$value ;;
    esac
  done <<END
$(systemctl show --timestamp=us+utc --property ExecMainStartTimestamp,NRestarts,Result -- "$unit" 2>/dev/null)
END
  zone=$(readlink -f /etc/localtime)
  say zone "$(date +%z) ${zone#/usr/share/zoneinfo/}"
  say result "$result"
  [ -n "$started" ] || return 0
  probe_began
  [ -n "$began" ] || return 0
  since=$began
  if [ "$restarts" -gt 0 ] && [ $((now - ${began%.*})) -lt 60 ]; then since=$((now - 600)); fi
  journal_since "$since" 200 short-unix | pieces journal
  errors_since "$since" | pieces error
  probe_ended
}

# The last time the kernel killed it for lack of memory.
probe_ended() {
  journal_since "$((now - 86400))" 1 short-unix --grep 'oom-kill|OOM killer' | pieces oom
}
