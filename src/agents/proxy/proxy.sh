# The state of an agent's proxy. Used with proof.sh, which probes the account, the unit and the port first; `unit` and
# `port` are the proxy's.

# The user of the unit: a unit of another user is not this agent's, whatever its name.
probe_runs_as() {
  say runs_as "$(systemctl show --property User --value -- "$unit" 2>/dev/null)"
}

# probe_login SECONDS SCRIPT: the logins that the agent's program reports, run by that script in the agent's sandbox.
probe_login() {
  [ -n "$uid" ] || return 0
  /bin/sh -c "$2" </dev/null 2>/dev/null | timeout -k 2 "$1" head -c 20000 | in_pieces login
}

# The proxy's own report. No key is sent.
probe_proxy() {
  [ "$ours" = yes ] || return 0
  printf 'url = "http://127.0.0.1:%s%s"\nsilent\nnoproxy = "*"\nmax-time = 10\n' "$port" "$health" |
    curl -q --config - 2>/dev/null | head -c 4000 | in_pieces proxy
}
