# The ports of an agent's processes that other machines can reach. Used with the functions of proof.sh, after see_unit.

# Only TCP: a program that asks a name server has a UDP port open for the answer, too.
see_open_ports() {
  [ -n "$uid" ] && [ "${pid:-0}" != 0 ] || return 0
  say open-ports yes
  sockets=''
  awk -v uid="$uid" '$4 == "0A" && $8 == uid { print $2, $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null |
    grep -Ev '^([0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F):' | head -n 50 |
    while read -r local inode; do
      # Most agents have no such port, and then nobody has to go through their processes.
      [ -n "$sockets" ] || { list_unit_groups; sockets=$(list_sockets); }
      holder=$(printf '%s\n' "$sockets" | sed -n "s|^/proc/\([0-9]*\)/fd/[0-9]* socket:\[$inode\]\$|\1|p" | head -n 1)
      [ -n "$holder" ] || continue
      command='?'
      read -r command 2>/dev/null <"/proc/$holder/comm"
      say open-port "${local%:*} $((0x${local##*:})) $holder $command"
    done
}
