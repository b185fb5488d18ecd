# How an agent is, beside what is proven of it. Used with the functions of proof.sh, which see the account, the unit and the
# port first.

# What its control group has used up so far. Called twice: the difference tells how busy it is.
see_use() {
  [ "${pid:-0}" != 0 ] || return 0
  group=$(group_of "$pid")
  group=/sys/fs/cgroup${group#0::}
  read -r up _ </proc/uptime
  while read -r name value; do
    [ "$name" != usage_usec ] || say "$1" "${up%.*}${up#*.} $value"
  done 2>/dev/null <"$group/cpu.stat"
  [ "$1" = cpu.first ] || return 0
  # Where nobody counts it for the group, it is what its processes have.
  read -r bytes 2>/dev/null <"$group/memory.current" ||
    bytes=$(xargs -r -I {} cat /proc/{}/status 2>/dev/null <"$group/cgroup.procs" | awk '$1 == "VmRSS:" { sum += $2 } END { print sum * 1024 }')
  say memory "$bytes"
}

# Room where it lives: free kilobytes, all inodes and free ones. Some file systems count none.
see_room() {
  say room "$(df -Pk -- "$home" 2>/dev/null | awk 'NR == 2 { print $4 }') $(df -Pi -- "$home" 2>/dev/null | awk 'NR == 2 { print $2, $4 }')"
}

# What it says of its channels.
see_channels() {
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  say gateway "$(as_agent head -c 200000 -- "$data/gateway_state.json" | base64 -w 0)"
}

# The last thing that went wrong since it was started. It notes the wrong keys that we try: that is not one.
see_error() {
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  began=$(systemctl show --timestamp=unix --property ExecMainStartTimestamp --value -- "$unit" 2>/dev/null)
  [ -n "$began" ] || return 0
  say error "$(as_agent tail -n 100 -- "$data/logs/errors.log" | since "$(date -d "$began" '+%F %T')" | grep -Fv -- "$models" | grep '^[0-9]' | tail -n 1 | head -c 2000)"
}

# Whether the service that answers for its model can be reached from here. Nobody's key is shown, and nothing is asked of it.
see_reach() {
  [ -n "$1" ] || return 0
  status=$(printf 'url = "%s"\nsilent\noutput = "/dev/null"\nwrite-out = "%%{http_code}"\nmax-time = 5\nproto = "=http,https"\n' "$1" |
    curl -q --config - 2>/dev/null)
  say reach "$? ${status:-000}"
}
