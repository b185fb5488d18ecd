# The state of an agent's proxy. Called after the probes of the account, the unit and the port (proof.sh); `unit` and
# `port` are the proxy's.

# A unit that runs as another user does not belong to this agent, whatever its name.
probe_runs_as() {
  say runs_as "$(systemctl show --property User --value -- "$unit" 2>/dev/null)"
}

# probe_login SECONDS SCRIPT: SCRIPT runs the agent's program in its sandbox; the program prints its logins.
probe_login() {
  [ -n "$uid" ] || return 0
  /bin/sh -c "$2" </dev/null 2>/dev/null | timeout -k 2 "$1" head -c 20000 | say_base64 login
}

# The proxy's own report. No key is sent.
probe_proxy() {
  [ "$port_is_own" = yes ] || return 0
  printf 'url = "http://127.0.0.1:%s%s"\nsilent\nnoproxy = "*"\nmax-time = 10\n' "$port" "$health" |
    curl -q --config - 2>/dev/null | head -c 4000 | say_base64 proxy
}
