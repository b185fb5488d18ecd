# The proofs of an agent. The script that carries it sets what is looked at and calls the parts. The agent's key is the first
# line of stdin, so that it is nobody's argument; curl gets it on its own stdin.

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
  properties=$(systemctl show --property \
    LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,MainPID,UnitFileState,NeedDaemonReload -- "$unit")
  pid=0
  while IFS='=' read -r property value; do
    [ "$property" != MainPID ] || pid=$value
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

# Who listens on the port. `ours` is yes when somebody does and nobody else's process does. An agent that comes or goes while it
# is looked at leaves a port that seems to be nobody's, or a stranger's (seen in a crash loop): that is told when two looks agree.
see_port() {
  hex=$(printf %04X "$port") before=''
  for look in 1 2 3 4; do
    told=$(see_listeners)
    case $told in *holder=no*) ;; *) break ;; esac
    [ "$told" != "$before" ] || break
    before=$told
    sleep 0.1
    pid=$(systemctl show --property MainPID --value -- "$unit")
  done
  case $told in '') ours='' ;; *holder=no*) ours=no ;; *) ours=yes ;; esac
  # A line at a time, as `say` does it.
  [ -z "$told" ] || printf '%s\n' "$told" | while IFS= read -r line; do printf '%s\n' "$line"; done
}

see_listeners() {
  for listener in $(grep -hs "^ *[0-9]*: [0-9A-F]*:$hex [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6 |
    while read -r _ local _ _ _ _ _ _ _ inode _; do echo "${local%:*}/$inode"; done); do
    say listen "$listener"
    see_holder "${listener#*/}"
  done
}

# Own is what is in the control group of the unit's main process, or below it. The group's name says nothing: any user may
# have a unit of the same name, whose group ends alike.
see_holder() {
  holder=$(held_by "$1" "/proc/$pid/fd")
  [ -n "$holder" ] || holder=$(held_by "$1" /proc/[0-9]*/fd)
  own=no command='' of='?'
  group=$(group_of "$pid")
  case $group,$(group_of "${holder:-none}") in
    , | '0::/',* | ,*) ;;
    "$group,$group" | "$group,$group"/*) own=yes ;;
  esac
  if [ "$own" = yes ]; then of=$user; elif [ -n "$holder" ]; then of=$(stat -c %U "/proc/$holder" 2>/dev/null); fi
  read -r command 2>/dev/null <"/proc/${holder:-none}/comm"
  say holder "$own ${holder:-0} ${of:-?} $command"
}

group_of() {
  grep -s '^0::' "/proc/$1/cgroup"
}

held_by() {
  inode=$1
  shift
  found=$(find "$@" -maxdepth 1 -lname "socket:\[$inode\]" -print -quit 2>/dev/null)
  found=${found#/proc/}
  echo "${found%%/*}"
}

# Our key is told to nobody but the agent's own process.
see_answers() {
  [ "$ours" = yes ] || return 0
  command -v curl >/dev/null || { say curl missing; return 0; }
  # One that does not answer at all need not be asked four times, ten seconds each.
  answers=$({
    echo fail-early
    request health "$health"
    echo next
    request none "$models"
    echo next
    request wrong "$models"
    header 0000000000000000000000000000000000000000000000000000000000000000
    if [ -n "$key" ]; then
      echo next
      request own "$models"
      header "$key"
    fi
  } | curl -q --config - 2>/dev/null)
  printf '%s\n' "$answers"
  case $answers,$chat in *own=200*,yes) see_chat ;; esac
}

# Each on a connection of its own: on one that is kept, a server that writes head and body apart is 40 ms late (Nagle).
request() {
  printf 'url = "http://127.0.0.1:%s%s"\nsilent\nnoproxy = "*"\nmax-time = %s\n' "$port" "$2" "${answer_seconds:-10}"
  printf 'header = "Connection: close"\n'
  printf 'output = "/dev/null"\nwrite-out = "%s=%%{http_code}\\n"\n' "$1"
}

header() {
  printf 'header = "Authorization: Bearer %s"\n' "$1"
}

see_chat() {
  # Also when nothing comes.
  say chat ''
  {
    printf 'url = "http://127.0.0.1:%s%s"\nsilent\nnoproxy = "*"\nmax-time = %s\n' "$port" "$chat_path" "$chat_seconds"
    header "$key"
    printf 'include\nheader = "Content-Type: application/json"\nheader = "Expect:"\ndata-raw = "%s"\n' "$chat_body"
  } | curl -q --config - 2>/dev/null | head -c 60000 | in_pieces chat
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

# What the agent said since its last start.
see_words() {
  see_began
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

# errors_since SECONDS. A line without a time goes on with the one before it, as a traceback does.
errors_since() {
  [ -n "$uid" ] || return 0
  last_of 200000 "$data/logs/errors.log" |
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
