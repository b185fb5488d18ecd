# The probes behind the proofs of an agent. The agent's key is the first line of stdin, so that it is in no argument
# list; requests.sh also gets it on stdin. Used with port.sh.

probe_account() {
  find_account
  say uid "$uid"
  say comment "$comment"
}

# probe_files WATCHED [NAME PATH]...: one stat for all; sets `sizes` for probe_own_files. Of `.text.NAME` only the size
# is printed, to detect a text that was read in part; of other names with a dot, nothing. Of names in WATCHED, prints
# the time of the last change, by which a quick probe decides whether a full one is due.
probe_files() {
  watched=$1 names='' sizes=' ' touched=''
  shift
  rest=$#
  while [ "$rest" -gt 1 ]; do
    names="$names $1"
    set -- "$@" "$2"
    shift 2
    rest=$((rest - 2))
  done
  # stat prints no line for a missing file, so each line has the path.
  stats=$newline$(stat -c '%n %u:%a:%s:%Z:%i:%F' -- "$@" 2>/dev/null)$newline
  for name in $names; do
    owner='' mode='' size='' changed='' inode='' kind=''
    case $stats in
      "$newline$1 "*)
        found=${stats#"$newline$1 "}
        stats=$newline${found#*"$newline"}
        IFS=: read -r owner mode size changed inode kind <<END
${found%%"$newline"*}
END
        ;;
    esac
    sizes="$sizes${name#.}=$size "
    case " $watched " in *" $name "*) touched="$touched $changed/$inode" ;; esac
    case $name in
      .text.*) say "size.${name#.text.}" "$size" ;;
      .*) ;;
      *)
        # Looking up another owner's name takes a process.
        if [ "$owner" = "$uid" ]; then owner=$user; elif [ -n "$owner" ]; then owner=$(stat -c %U -- "$1"); fi
        say "file.$name" "${kind:+$kind:$owner:$mode}"
        ;;
    esac
    shift
  done
  [ -z "$watched" ] || say touched "$touched"
}

probe_unit() {
  properties=$(systemctl show --timestamp=us+utc --property \
    LoadState,ActiveState,SubState,Result,ExecMainStatus,ExecMainStartTimestamp,NRestarts,MainPID,ControlGroup,UnitFileState,NeedDaemonReload \
    -- "$unit")
  pid=0 unit_group='' restarts=0
  while IFS='=' read -r property value; do
    case $property in
      MainPID) pid=$value ;;
      ControlGroup) unit_group=$value ;;
      ExecMainStartTimestamp) started=$value ;;
      NRestarts) restarts=$value ;;
    esac
    [ -z "$property" ] || say "unit.$property" "$value"
  done <<END
$properties
END
  [ "$pid" = 0 ] || probe_age
}

# The age of the main process in hundredths of a second. Both values include suspended time.
probe_age() {
  read -r up _ </proc/uptime
  read -r stat 2>/dev/null <"/proc/$pid/stat" || return 0
  # The command name may contain blanks and brackets.
  set -- ${stat##*) }
  say age $((${up%.*}${up#*.} - ${20}))
}

# Makes a later probe_port also print the ports of the agent's processes that other machines can reach.
probe_open_ports() {
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  say open-ports yes
  open_uid=$uid
}

# The owner of the port, and the answers to our requests on connections verified to be the agent's.
probe_api() {
  command -v bash >/dev/null || { probe_port; say bash missing; return 0; }
  answers=$(in_bash 25 ask_statuses)
  case $answers in *port-probed=yes*) ;; *) probe_port ;; esac
  while IFS= read -r line; do
    [ -z "$line" ] || printf '%s%s\n' "$prefix" "$line"
  done <<END
$answers
END
  case $answers,$chat in *own=200*,yes) probe_chat ;; esac
}

# in_bash SECONDS FUNCTION: runs a function of requests.sh. Call it in a subshell, which it replaces.
in_bash() {
  port=$port unit=$unit unit_group=$unit_group user=$user pid=$pid open_uid=${open_uid-} health=$health models=$models \
    answer_seconds=$answer_seconds chat_path=$chat_path chat_session=$chat_session chat_body=$chat_body \
    exec timeout -k 2 "$1" bash -c "$port_functions
$requests" bash "$2" <<END
$key
END
}

# `close`: on a kept connection, a server that writes head and body apart is 40 ms late (Nagle).
request() {
  printf 'url = "http://127.0.0.1:%s%s"\nsilent\nnoproxy = "*"\nmax-time = %s\n' "$port" "$2" "${answer_seconds:-10}"
  printf 'header = "Connection: close"\n'
  printf 'output = "/dev/null"\nwrite-out = "%s=%%{http_code}\\n"\n' "$prefix$1"
}

probe_chat() {
  say chat ''
  say asked "$(date +%s.%6N)"
  in_bash "$chat_seconds" ask_chat | say_base64 chat
  # The answer may have taken long: print the age after it, if the same process still runs.
  if [ "$(systemctl show --property MainPID --value -- "$unit")" = "$pid" ]; then probe_age; else say replaced yes; fi
}

# probe_servers TEXT: the log lines about MCP servers, which contain TEXT, since the last start.
probe_servers() {
  say servers yes
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  find_start
  [ -n "$began" ] || return 0
  for log in errors.log agent.log; do log_since "$began" "$log" | grep -F -- "$1" | tail -n 50 | say_lines server; done
}

# Inputs of a plan besides the files of probe_own_files. Of the unit file at most 60,000 bytes.
probe_plan_inputs() {
  probe_systemd
  [ -n "$salt" ] && [ -f "/etc/systemd/system/$unit" ] || return 0
  left=60000
  while IFS= read -r line && [ "$left" -gt 0 ]; do
    left=$((left - ${#line} - 1))
    say service ":$line"
    line=''
  done <"/etc/systemd/system/$unit"
  [ -z "$line" ] || say service ">$line"
}

contents() {
  { head_as_agent 4000000 "$1" || contents_as_root "$1"; } | limit_output 4000000
}

# Reads a file that the agent cannot read. Follows no link, which the agent could point anywhere.
contents_as_root() (
  cd -P -- "${1%/*}" 2>/dev/null && [ "$(pwd -P)" = "${1%/*}" ] || exit
  [ "$(stat -c %F:%h -- "./${1##*/}" 2>/dev/null)" = 'regular file:1' ] || exit
  dd if="./${1##*/}" iflag=nofollow,nonblock bs=65536 count=60 status=none 2>/dev/null
)

# say_base64 NAME: lines short enough to be written atomically, which a pipe guarantees for 4096 bytes.
say_base64() {
  base64 -w 2000 | sed -u "s/^/$prefix$1=/"
}

# The version is in the name of the library that systemctl is linked with: no process.
probe_systemd() {
  number=''
  for library in /usr/lib/systemd/libsystemd-shared-*.so /usr/lib/*/systemd/libsystemd-shared-*.so; do
    [ ! -e "$library" ] || number="$number${library##*-shared-}"
  done
  case $number in [0-9]*.so) number=${number%.so} ;; esac
  case $number in '' | *.so*) number=$(systemctl --version) number=${number#* } ;; esac
  say systemd "${number%%[!0-9]*}"
}

# Every listening port, with the uid.
probe_ports() {
  grep -hs '^ *[0-9]*: [0-9A-F]*:[0-9A-F]* [0-9A-F]*:0000 0A ' /proc/net/tcp /proc/net/tcp6 |
    while read -r _ local _ _ _ _ _ owner _; do say port "$((0x${local##*:}))/$owner"; done
}

# probe_log [SECONDS]: journal and errors since that time or, by default, since the last start.
probe_log() {
  find_start
  began=${1:-$began}
  journal_since "$began" 200 cat | say_lines log
  [ -z "$began" ] || log_since "$began" errors.log | say_lines log
}

# The last lines of the journal, when the unit is not up.
probe_journal_tail() {
  case $properties in *ActiveState=active*) return 0 ;; esac
  find_start
  [ -z "$uid" ] || [ -z "$began" ] || journal_since "$began" 20 cat | say_lines log
}

# Sets `began` to the last start, in seconds since 1970, and `began_local` to the same in the format of a log; empty if
# there was none. To the microsecond: the previous run may have ended in the same second.
find_start() {
  [ -n "$started" ] || started=$(systemctl show --timestamp=us+utc --property ExecMainStartTimestamp --value -- "$unit" 2>/dev/null)
  began='' began_local=''
  [ -z "$started" ] || IFS=/ read -r began began_local <<END
$(date -d "$started" '+%s.%6N/%F %T,%3N' 2>/dev/null)
END
}

# Sets only `began_local`; on a host in UTC that takes no process.
find_local_start() {
  case $started,${TZ-UTC} in
    ?*' UTC,UTC')
      if [ "${TZ-}" = UTC ] || [ ! -e /etc/localtime ] || [ /etc/localtime -ef /usr/share/zoneinfo/UTC ] ||
        [ /etc/localtime -ef /usr/share/zoneinfo/Etc/UTC ]; then
        began_local=${started#* } began_local=${began_local% UTC}
        # Milliseconds instead of microseconds.
        case $began_local in *.??????) began_local=${began_local%???} began_local=${began_local%.*},${began_local##*.} ;; esac
        return
      fi
      ;;
  esac
  find_start
}

# journal_since SECONDS LINES FORMAT MORE...
journal_since() {
  from=${1:+--since=@$1} most=$2 format=$3
  shift 3
  timeout -k 2 20 journalctl --quiet --no-pager --all --output "$format" --lines "$most" --unit "$unit" $from "$@" 2>/dev/null
}

# log_since SECONDS FILE. A line without a time continues the one before it, as in a traceback.
log_since() {
  [ -n "$uid" ] || return 0
  tail_as_agent 200000 "$data/logs/$2" |
    awk -v began="$(date -d "@$1" '+%F %T,%3N')" '
      /^[0-9][0-9][0-9][0-9]-/ { size = substr($0, 20, 1) == "," ? 23 : 19; keep = substr($0, 1, size) >= substr(began, 1, size) }
      keep'
}

# say_lines NAME: cuts lines so that they are written atomically.
say_lines() {
  tail -n 200 | cut -b 1-1500 | sed -u "s/^/$prefix$1=/"
}

# Disk space of the home: free kilobytes, inodes, free inodes. Some file systems count no inodes.
probe_disk_space() {
  read -r blocks size inodes left <<END
$(stat -f -c '%a %S %c %d' -- "$home" 2>/dev/null)
END
  say disk "${blocks:+$((blocks * size / 1024)) $inodes $left}"
}
