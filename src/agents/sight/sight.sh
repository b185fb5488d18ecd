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

# What it says of its channels.
see_channels() {
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  first_of 200000 "$data/gateway_state.json" | at_most 200000 | in_pieces gateway
}

# The last things that went wrong since it was started. It notes the wrong keys that we try: those are none. What ended
# before it had a log of its own has told the journal.
see_errors() {
  [ -n "$uid" ] || return 0
  see_began
  [ -n "$began" ] || return 0
  errors_since "$began" | grep -Fv -- "$models" | grep '^[0-9]' | tail -n 5 | pieces error
  case $properties in
    *ActiveState=active*) ;;
    *) journal_since "$began" 20 cat | pieces word ;;
  esac
}

# When the files it rests on were last changed: a look that asks for no more tells by it whether a whole one is due.
see_touched() {
  say touched "$(stat -c '%Z %i' -- "$@" 2>&1 | tr '\n' ' ' | cksum)"
}

see_health() {
  [ "$ours" = yes ] || return 0
  request health "$health" | curl -q --config - 2>/dev/null
}

# see_reach ADDRESS [NAME]. Whether a service that answers for its models can be reached from here. Nobody's key is shown, and
# nothing is asked of it.
see_reach() {
  [ -n "$1" ] || return 0
  status=$(printf 'url = "%s"\nsilent\noutput = "/dev/null"\nwrite-out = "%%{http_code}"\nmax-time = 5\nproto = "=http,https"\n' "$1" |
    curl -q --config - 2>/dev/null)
  say "reach${2:+.$2}" "$? ${status:-000}"
}

# see_codex PROGRAM KEY: who runs its turns, by its settings, and the Codex that its service would find.
see_codex() {
  [ -n "$uid" ] || return 0
  say runtime "$(contents "$config" | sed -n "/^[[:space:]]*#/d; s/.*[{,[:space:]]$2:[[:space:]]*[\"']\{0,1\}\([A-Za-z_]*\).*/\1/p" | head -n 1)"
  say codex "$(cd "$home" && ask_agent 10 "$1" --version | timeout -k 2 10 head -n 1 | head -c 200)"
}
