# Requests to the agent's port. Run by bash, which can open connections. All connections are opened first; then
# probe_port verifies who accepted them; only then is anything sent. The key is the first line of stdin, so that it is
# in no argument list.

IFS= read -r key
# A closed connection must not end the script.
trap '' PIPE

connected() {
  { exec {connection}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null
}

# send KEY METHOD PATH [BODY]. A BODY is a chat message, sent with the headers in `chat_session`. HTTP/1.0: the answer
# ends with the connection. bash writes line by line, so a server may read the request in several pieces.
send() {
  local text
  printf -v text '%s %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\nAccept: */*\r\n' "$2" "$3" "$port"
  [ -z "$1" ] || text+="Authorization: Bearer $1"$'\r\n'
  [ $# = 3 ] || text+=${chat_session:+$chat_session$'\r\n'}$'Content-Type: application/json\r\n'"Content-Length: ${#4}"$'\r\n'
  printf '%s\r\n%s' "$text" "${4-}" 2>/dev/null >&"$connection"
}

# Sets `code` to the status of an answer; 000 when none arrives in time.
read_status() {
  local line='' left=$((${answer_seconds:-10} - SECONDS))
  code=000
  [ -n "$connection" ] || return 0
  IFS= read -r -t "$((left > 0 ? left : 0)).1" -n 100 line 2>/dev/null <&"$connection"
  [[ ! $line =~ ^HTTP/[0-9.]+\ ([0-9]{3}) ]] || code=${BASH_REMATCH[1]}
}

ask_statuses() {
  local names=(health) connections=() at
  # Without `models` the API checks no key.
  [ -z "$models" ] || names+=(none wrong ${key:+own})
  for at in "${!names[@]}"; do
    connected || break
    connections+=("$connection")
  done
  probe_port
  echo port-probed=yes
  [ "$port_is_own" = yes ] || return 0
  for at in "${!connections[@]}"; do
    connection=${connections[at]}
    case ${names[at]} in
      health) send '' GET "$health" ;;
      none) send '' GET "$models" ;;
      wrong) send 0000000000000000000000000000000000000000000000000000000000000000 GET "$models" ;;
      own) send "$key" GET "$models" ;;
    esac
  done
  SECONDS=0
  for at in "${!names[@]}"; do
    connection=${connections[at]-}
    read_status
    printf '%s=%s\n' "${names[at]}" "$code"
    # Reads the rest: a simple server logs an error when the connection closes before it has sent its whole answer.
    [ "${names[at]}" != health ] || [ "$code" = 000 ] || IFS= read -r -d '' -t 0.5 -n 4096 2>/dev/null <&"$connection" || :
  done
}

ask_chat() {
  connected || return 0
  probe_port >/dev/null
  [ "$port_is_own" = yes ] || return 0
  send "$key" POST "$chat_path" "$chat_body"
  head -c 60000 <&"$connection"
}

"$1"
