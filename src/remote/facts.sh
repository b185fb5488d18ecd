# Prints facts about the host as key=value lines. Read-only, needs no rights, POSIX sh.
say() { printf '%s=%s\n' "$1" "$2"; }

say user "$(id -un)"
say hostname "$(uname -n)"
say kernel "$(uname -r)"
say arch "$(uname -m)"
[ -r /etc/os-release ] && (
  . /etc/os-release
  say os "${ID:-}"
  say os_version "${VERSION_ID:-}"
  say os_name "${PRETTY_NAME:-}"
)
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc)"
while read -r key value _; do
  case $key in
    MemTotal:) say memory_kb "$value" ;;
    MemAvailable:) say memory_free_kb "$value" ;;
  esac
done </proc/meminfo
# Agents live under /home.
df -Pk /home 2>/dev/null | while read -r _ total _ free _; do
  case $total in *[!0-9]* | '') ;; *) say disk_kb "$total"; say disk_free_kb "$free" ;; esac
done
say systemd "$(systemctl --version 2>/dev/null | sed -n '1s/^systemd \([0-9]*\).*/\1/p')"
say system_state "$(systemctl is-system-running 2>/dev/null)"
say clock "$(date +%s)"
if [ "$(id -u)" = 0 ]; then
  say sudo root
elif ! command -v sudo >/dev/null 2>&1; then
  say sudo none
elif sudo -n true 2>/dev/null; then
  say sudo passwordless
else
  # Whether sudo accepts a password shows only when one is tried.
  say sudo password
fi
for device in /sys/bus/pci/devices/*; do
  case $(cat "$device/class" 2>/dev/null) in
    0x0300* | 0x0302*) say gpu "$(cat "$device/vendor" 2>/dev/null)" ;;
  esac
done
say end facts
