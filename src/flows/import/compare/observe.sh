# Prints the state of an agent that Clawrium set up. The caller sets the variables.

probe_account() {
  uid=$(id -u "$user" 2>/dev/null) gid=$(id -g "$user" 2>/dev/null)
  [ -n "$uid" ] || return 0
  say account "$(getent passwd "$user")"
}

probe_unit() {
  systemctl show --property LoadState,User,NoNewPrivileges,ProtectSystem,ProtectHome,PrivateTmp,RestrictNamespaces -- "$unit" |
    while IFS='=' read -r property value; do say "unit.$property" "$value"; done
}

# Of `.env` only the names, the listen address and a salted digest of the key leave the host.
probe_env() {
  [ -n "$uid" ] || return 0
  say env "$(as_agent_within 10 stat -c %a -- "$env")"
  content=$(head_as_agent 1000000 "$env" | limit_output 1000000)
  printf '%s\n' "$content" | sed -n 's/^[[:space:]]*\(export[[:space:]]\{1,\}\)\{0,1\}\([A-Za-z_][A-Za-z0-9_]\{0,199\}\)=.*/variable=\2/p'
  say bind "$(value_of API_SERVER_HOST)"
  say port "$(value_of API_SERVER_PORT)"
  key=$(value_of API_SERVER_KEY)
  [ -z "$key" ] || say key "$(printf '%s%s' "$salt" "$key" | sha256sum | cut -c 1-64)"
}

value_of() {
  printf '%s\n' "$content" | sed -n "s/^[[:space:]]*\(export[[:space:]]\{1,\}\)\{0,1\}$1=//p" | tail -n 1 |
    sed "s/[[:space:]]*\$//; s/^'\(.*\)'\$/\1/; s/^\"\(.*\)\"\$/\1/"
}
