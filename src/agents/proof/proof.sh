# The proofs of an agent. The script that carries it sets what is looked at and calls the parts. The agent's key is the first
# line of stdin, so that it is nobody's argument; requests.sh gets it on its own stdin. Used with port.sh.

see_account() {
  uid='' gid='' comment=''
  IFS=: read -r _ _ uid gid comment _ <<END
$(getent passwd "$user")
END
  say uid "$uid"
  say comment "$comment"
}

# see_files NAME PATH...
see_files() {
  while [ $# -gt 1 ]; do
    say "file.$1" "$(stat -c %F:%U:%a -- "$2" 2>/dev/null)"
    shift 2
  done
}

see_unit() {
  properties=$(systemctl show --timestamp=us+utc --property \
    LoadState,ActiveState,SubState,Result,ExecMainStatus,ExecMainStartTimestamp,NRestarts,MainPID,ControlGroup,UnitFileState,NeedDaemonReload \
    -- "$unit")
  pid=0 unit_group=''
  while IFS='=' read -r property value; do
    case $property in MainPID) pid=$value ;; ControlGroup) unit_group=$value ;; esac
    [ -z "$property" ] || say "unit.$property" "$value"
  done <<END
$properties
END
  [ "$pid" = 0 ] || see_age
}

# How long the process has been there, in hundredths of a second: both clocks run on while a machine sleeps.
see_age() {
  read -r up _ </proc/uptime
  read -r stat 2>/dev/null <"/proc/$pid/stat" || return 0
  # A program's name may hold blanks and brackets.
  set -- ${stat##*) }
  say age $((${up%.*}${up#*.} - ${20}))
}

group_of() {
  grep -s '^0::' "/proc/$1/cgroup"
}

# Who holds the port, and what it answers to our requests. All is asked on connections that were seen to be the agent's own.
see_api() {
  command -v bash >/dev/null || { see_port; say bash missing; return 0; }
  answers=$(in_bash 25 ask_statuses)
  case $answers in *looked=yes*) ;; *) see_port ;; esac
  while IFS= read -r line; do
    [ -z "$line" ] || printf '%s\n' "$line"
  done <<END
$answers
END
  case $answers,$chat in *own=200*,yes) see_chat ;; esac
}

# in_bash SECONDS FUNCTION, one of requests.sh.
in_bash() {
  printf '%s\n' "$key" | port=$port unit=$unit unit_group=$unit_group user=$user pid=$pid health=$health models=$models \
    answer_seconds=$answer_seconds chat_path=$chat_path chat_session=$chat_session chat_body=$chat_body timeout -k 2 "$1" bash -c "$port_functions
$requests" bash "$2"
}

# Each on a connection of its own: on one that is kept, a server that writes head and body apart is 40 ms late (Nagle).
request() {
  printf 'url = "http://127.0.0.1:%s%s"\nsilent\nnoproxy = "*"\nmax-time = %s\n' "$port" "$2" "${answer_seconds:-10}"
  printf 'header = "Connection: close"\n'
  printf 'output = "/dev/null"\nwrite-out = "%s=%%{http_code}\\n"\n' "$1"
}

see_chat() {
  # Also when nothing comes.
  say chat ''
  say asked "$(date +%s.%6N)"
  in_bash "$chat_seconds" ask_chat | in_pieces chat
  # The answer may have taken long: the age that counts is that after it, and of the process that was asked.
  if [ "$(systemctl show --property MainPID --value -- "$unit")" = "$pid" ]; then see_age; else say replaced yes; fi
}

# What it says of its channels. The entries of earlier processes stay in the file, with their times.
see_channels() {
  say connections yes
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  first_of 200000 "$data/gateway_state.json" | at_most 200000 | in_pieces gateway
}

# see_servers TEXT: the lines about MCP servers since its last start; all of them contain that text.
see_servers() {
  say servers yes
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  see_began
  [ -n "$began" ] || return 0
  for log in errors.log agent.log; do log_since "$began" "$log" | grep -F -- "$1" | tail -n 50 | pieces server; done
}

# What a rendering has to know. Of `.env` the names and, to tell what would change, a salted digest of each line.
see_rendered() {
  see_systemd &
  [ -z "$salt" ] || [ ! -f "/etc/systemd/system/$unit" ] || head -c 60000 -- "/etc/systemd/system/$unit" | in_pieces service
  [ -n "$uid" ] || return 0
  # Its last line may have no end.
  { contents "$env"; echo; } | see_variables
  contents "$config" | in_pieces config
}

# see_texts NAME PATH...: files that somebody else writes to as well. Their size tells whether all of it could be read.
see_texts() {
  [ -n "$uid" ] || return 0
  while [ $# -gt 1 ]; do
    say "size.$1" "$(stat -c %s -- "$2" 2>/dev/null)"
    contents "$2" | in_pieces "text.$1"
    shift 2
  done
}

# Also of a file that is not the agent's any more. Root follows no link of the agent's: it may lead anywhere.
contents() {
  {
    first_of 4000000 "$1" || (
      cd -P -- "${1%/*}" 2>/dev/null && [ "$(pwd -P)" = "${1%/*}" ] || exit
      [ "$(stat -c %F:%h -- "./${1##*/}" 2>/dev/null)" = 'regular file:1' ] || exit
      dd if="./${1##*/}" iflag=nofollow,nonblock bs=65536 count=60 status=none 2>/dev/null
    )
  } | at_most 4000000
}

# Lines that are written at once, so that those of others do not come between: a pipe takes 4096 bytes so.
in_pieces() {
  base64 -w 2000 | sed -u "s/^/$1=/"
}

see_systemd() {
  systemctl --version | {
    read -r _ number _
    say systemd "$number"
  }
}

# Every port somebody listens on, with the number of the user.
see_ports() {
  grep -hs '^ *[0-9]*: [0-9A-F]*:[0-9A-F]* [0-9A-F]*:0000 0A ' /proc/net/tcp /proc/net/tcp6 |
    while read -r _ local _ _ _ _ _ owner _; do say port "$((0x${local##*:}))/$owner"; done
}

# A digest costs two processes: who has that many variables means to keep us busy.
see_variables() {
  pattern='^[[:space:]]*\(export[[:space:]]\{1,\}\)\{0,1\}\([A-Za-z_][A-Za-z0-9_]\{0,199\}\)[[:space:]]*=.*'
  [ -n "$salt" ] || { sed -un "s/$pattern/variable=\2/p"; return; }
  sed -n "s/$pattern/\2 &/p" | head -n 1000 | while IFS= read -r line; do
    digest=$(printf '%s%s' "$salt" "${line#* }" | sha256sum)
    say variable "${line%% *} ${digest%% *}"
  done
}

# see_words [SECONDS]: what the agent said since then; without it, since its last start.
see_words() {
  see_began
  began=${1:-$began}
  journal_since "$began" 200 cat | pieces word
  [ -z "$began" ] || errors_since "$began" | pieces word
}

# Sets `began` to when its last run did, in seconds since 1970; to nothing when there was none. To the microsecond: the run
# before may have ended within the same second, and said why.
see_began() {
  began=$(systemctl show --timestamp=us+utc --property ExecMainStartTimestamp --value -- "$unit" 2>/dev/null)
  began=$([ -z "$began" ] || date -d "$began" +%s.%6N 2>/dev/null)
}

# journal_since SECONDS LINES FORMAT MORE...
journal_since() {
  from=${1:+--since=@$1} most=$2 format=$3
  shift 3
  timeout -k 2 20 journalctl --quiet --no-pager --all --output "$format" --lines "$most" --unit "$unit" $from "$@" 2>/dev/null
}

errors_since() {
  log_since "$1" errors.log
}

# log_since SECONDS FILE. A line without a time goes on with the one before it, as a traceback does.
log_since() {
  [ -n "$uid" ] || return 0
  last_of 200000 "$data/logs/$2" |
    awk -v began="$(date -d "@$1" '+%F %T,%3N')" '
      /^[0-9][0-9][0-9][0-9]-/ { size = substr($0, 20, 1) == "," ? 23 : 19; keep = substr($0, 1, size) >= substr(began, 1, size) }
      keep'
}

# pieces NAME: short enough to be written at once, so that the lines of another agent do not come between.
pieces() {
  cut -b 1-1500 | tail -n 200 | sed -u "s/^/$1=/"
}

# Room where it lives: free kilobytes, all inodes and free ones. Some file systems count none.
see_room() {
  say room "$(df -Pk -- "$home" 2>/dev/null | awk 'NR == 2 { print $4 }') $(df -Pi -- "$home" 2>/dev/null | awk 'NR == 2 { print $2, $4 }')"
}
