# What a doctor asks beyond how an agent is. Used with the functions of looking.sh and see_account of proof.sh.

# What its unit went through. One that ends again and again says why in the run before this one: then the last minutes count.
see_symptoms() {
  now=$(date +%s) began=0 restarts=0 sub='' result=''
  while IFS='=' read -r property value; do
    case $property in
      ExecMainStartTimestamp) began=${value#@} ;;
      NRestarts) restarts=$value ;;
      SubState) sub=$value ;;
      Result) result=$value ;;
    esac
  done <<END
$(systemctl show --timestamp=unix --property ExecMainStartTimestamp,NRestarts,SubState,Result -- "$unit" 2>/dev/null)
END
  say zone "$(date +%z)"
  say result "$result"
  case $began in '' | *[!0-9]*) began=0 ;; esac
  [ "$began" != 0 ] || return 0
  since=$began
  if [ "$restarts" -gt 0 ] && [ $((now - began)) -lt 60 ]; then since=$((now - 600)); fi
  say since "$since"
  see_journal
  see_errors
  see_ended
}

see_journal() {
  journalctl --quiet --no-pager --all --output short-unix --lines 200 --unit "$unit" --since "@$since" 2>/dev/null | pieces journal
}

# A line without a time goes on with the one before it, as a traceback does.
see_errors() {
  [ -n "$uid" ] || return 0
  as_agent tail -n 200 -- "$data/logs/errors.log" |
    awk -v began="$(date -d "@$since" '+%F %T')" '/^[0-9][0-9][0-9][0-9]-/ { keep = substr($0, 1, 19) >= began } keep' | pieces error
}

# The last time the system ended it for want of memory.
see_ended() {
  journalctl --quiet --no-pager --all --output short-unix --lines 1 --unit "$unit" --since "@$((now - 86400))" \
    --grep 'oom-kill|OOM killer' 2>/dev/null | pieces oom
}

# Short enough to be written at once, so that the lines of another agent do not come between.
pieces() {
  cut -b 1-1500 | tail -n 200 | sed -u "s/^/$1=/"
}

# Kilobytes in all and free, inodes in all and free. Some file systems count none.
see_space() {
  say space "$(df -Pk -- "$home" 2>/dev/null | awk 'NR == 2 { print $2, $4 }') $(df -Pi -- "$home" 2>/dev/null | awk 'NR == 2 { print $2, $4 }')"
}
