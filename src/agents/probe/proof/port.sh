# Whose processes hold a port. POSIX sh, also run by bash, as root; needs `unit`, `unit_group`, `user` and `port`. With
# `open_uid`, also which ports of that user's processes in the unit are bound to more than the loopback.
# A TCP connection stays with the socket that accepted it, and one that was not accepted yet ends with its listener. So
# when the unit has every listener of the port, and the other end of every connection that clm or root made to it, then
# all connections made so far are to the unit, for as long as they last.

# Prints listen= and holder= for each listener, and stranger= for each connection of clm or root whose other end is not
# the unit's. Sets `port_is_own` to yes when only the unit's processes hold the port. A process that starts or ends
# meanwhile leaves sockets without an owner (seen in a crash loop), so a foreign socket counts when two probes agree.
probe_port() {
  before=''
  for attempt in 1 2 3 4; do
    sockets=$(probe_sockets)
    case $sockets in *holder=no* | *stranger=*) ;; *) break ;; esac
    [ "$sockets" != "$before" ] || break
    before=$sockets
    sleep 0.1
    unit_group=$(systemctl show --property ControlGroup --value -- "$unit")
  done
  port_is_own=no
  case $sockets in *holder=no* | *stranger=*) ;; *holder=yes*) port_is_own=yes ;; *) port_is_own='' ;; esac
  [ -n "$sockets" ] || return 0
  name_holders <<END
$sockets
END
}

# Reads the socket tables first: a connection that is accepted before the processes are listed is then known to be the
# unit's. awk reads the list of processes again at the end: a pid may have been reused by a process outside the unit,
# whose sockets must not count. Call it in a subshell; with lastpipe, awk replaces bash.
probe_sockets() {
  find_hex
  list_unit_groups
  set -f
  [ -z "${BASH_VERSION-}" ] || shopt -s lastpipe
  {
    grep -hs -e ":$hex " ${open_uid:+-e ' 0A '} /proc/net/tcp /proc/net/tcp6
    list_sockets
  } | exec awk -v hex="$hex" -v login="${SUDO_UID:-0}" -v user="$user" -v main="${pid:-0}" -v uid="${open_uid-}" \
    "$judge_sockets" - processes=1 $groups
}

# Sets `hex` to the port as the kernel writes it.
find_hex() {
  hex='' rest=$port
  while [ "${#hex}" -lt 4 ]; do
    digit=$((rest % 16)) rest=$((rest / 16))
    case $digit in 10) digit=A ;; 11) digit=B ;; 12) digit=C ;; 13) digit=D ;; 14) digit=E ;; 15) digit=F ;; esac
    hex=$digit$hex
  done
}

# Sets `groups` to the cgroup.procs of the unit's control group and of those below it: words, as systemd escapes blanks
# in their names.
list_unit_groups() {
  groups=''
  case $unit_group in /?*) ;; *) return 0 ;; esac
  for directory in "/sys/fs/cgroup$unit_group" "/sys/fs/cgroup/unified$unit_group"; do
    [ -r "$directory/cgroup.procs" ] || continue
    groups=$directory/cgroup.procs
    for below in "$directory"/*/; do
      [ ! -d "$below" ] || { groups=$(find "$directory" -name cgroup.procs); break; }
    done
    return 0
  done
}

# `/proc/12/fd/3 socket:[45]` for each socket of the unit's processes. Only in a subshell, which find replaces.
list_sockets() {
  set --
  for group in $groups; do
    while read -r process; do set -- "$@" "/proc/$process/fd"; done 2>/dev/null <"$group"
  done
  [ $# = 0 ] || exec find "$@" -maxdepth 1 -lname 'socket:*' -printf '%p %l\n' 2>/dev/null
}

# Only ends that can still receive count: in other states, the client's FIN has arrived. Clients are identified by user:
# sshd connects for clm as the login user, and probes run as root. Connections of other accounts do not matter.
judge_sockets='
function plain(address) { sub(/^0000000000000000FFFF0000/, "", address); return address }
function is_client(user) { return user == login || user == 0 }
# 127.x.y.z and ::1
function is_loopback(address) { return (length(address) == 13 && address ~ /7F:/) || address ~ /^0+01000000:/ }
processes { is_own[$1]; next }
$2 ~ /^socket:/ { split($1, path, "/"); socket[substr($2, 9, length($2) - 9), path[3]]; next }
{
  near = plain($2); far = plain($3)
  # Only TCP: a DNS query also opens a UDP port.
  if ($4 == "0A" && uid != "" && $8 == uid && !is_loopback(near)) open[$10] = $2
  if ($4 == "0A") { if (near ~ (":" hex "$")) listener[$10] = substr($2, 1, length($2) - 5); next }
  if (near == "0100007F:" hex) { seen[far]; if ($4 ~ /^0[1345]$/) end[far] = $10 }
  if (far == "0100007F:" hex) { client[near] = $8; state[near] = $4 }
}
END {
  for (each in socket) {
    split(each, part, SUBSEP)
    if ((part[2] in is_own) && (part[2] == main || !(part[1] in owner))) owner[part[1]] = part[2]
  }
  for (inode in listener) {
    address = listener[inode]
    if (inode in owner) print "listen=" address "/" inode "\nholder=yes " owner[inode] " " user
    else if (plain(address) ~ /^(0100007F|0+)$/) print "listen=" address "/" inode "\nholder=no"
  }
  for (inode in open) if ((inode in owner) && ++count <= 50) print "open=" open[inode] " " owner[inode]
  for (far in end) {
    inode = end[far]
    if (inode != 0 && !(inode in owner) && (!(far in client) || is_client(client[far]))) print "stranger=" inode
  }
  # No other end: with SYN cookies the kernel creates it for the first byte, at whoever listens then.
  for (near in client) if (is_client(client[near]) && state[near] == "01" && !(near in seen)) print "stranger=0 " near
}'

# Adds pid, user and command to each line. All processes are searched only for sockets outside the unit.
name_holders() {
  inode=''
  while IFS= read -r line; do
    case $line in
      listen=*) inode=${line##*/} ;;
      'holder=yes '*)
        command=${line#holder=yes }
        read -r command 2>/dev/null <"/proc/${command%% *}/comm" || command=''
        line="$line $command"
        ;;
      open=*)
        number=${line##* } line=${line#open=} line=${line% *} command='?'
        read -r command 2>/dev/null <"/proc/$number/comm"
        line="open-port=${line%:*} $((0x${line##*:})) $number $command"
        ;;
      holder=no) line="holder=no $(process_with "$inode")" ;;
      'stranger=0 '*) line='stranger=0 ? ' ;;
      stranger=*) line="stranger=$(process_with "${line#*=}")" ;;
    esac
    printf '%s%.3000s\n' "${prefix-}" "$line"
  done
}

# process_with INODE: pid, user and command of a process that has the socket.
process_with() {
  found=$(find /proc/[0-9]*/fd -maxdepth 1 -lname "socket:\[$1\]" -print -quit 2>/dev/null)
  found=${found#/proc/}
  found=${found%%/*}
  command=''
  read -r command 2>/dev/null <"/proc/${found:-none}/comm"
  printf '%s %s %s' "${found:-0}" "$(stat -c %U "/proc/${found:-none}" 2>/dev/null || echo '?')" "$command"
}
