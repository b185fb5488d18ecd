# The ports of an agent's processes that other machines can reach. Used with the functions of proof.sh, after see_unit.

# Only TCP: a program that asks a name server has a UDP port open for the answer, too.
see_open_ports() {
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  say open-ports yes
  open=$(awk -v uid="$uid" "$open_sockets" /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  # Most agents have no such port, and then nobody has to go through their processes.
  [ -n "$open" ] || return 0
  list_unit_groups
  sockets=$newline$(list_sockets)$newline
  for socket in $open; do
    local=${socket%/*}
    holder=${sockets%%" socket:[${socket#*/}]$newline"*}
    [ "$holder" != "$sockets" ] || continue
    holder=${holder##*"$newline"/proc/}
    holder=${holder%%/*}
    command='?'
    read -r command 2>/dev/null <"/proc/$holder/comm"
    say open-port "${local%:*} $((0x${local##*:})) $holder $command"
  done
}

# 127.x.y.z, ::1 and ::ffff:127.x.y.z, as the kernel writes them, are the loopback.
open_sockets='
$4 != "0A" || $8 != uid { next }
length($2) == 13 && $2 ~ /7F:/ { next }
$2 ~ /^0+01000000:/ || $2 ~ /^0000000000000000FFFF0000[0-9A-F]+7F:/ { next }
++count <= 50 { print $2 "/" $10 }'
