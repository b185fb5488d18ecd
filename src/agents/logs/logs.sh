# Logs of agents: journal and files. Run as root, in a session of its own. Several sources write at once, and only short
# writes are atomic. So each line begins with the agent's number and the source, and long lines are split: a line ends
# with `.`, or with `+` when the next one continues it.

# The host's time and time zone.
probe_clock() {
  now=$(date +%s)
  zone=$(readlink -f /etc/localtime)
  printf -- '- clock %s %s %s\n' "$now" "$(date +%z)" "${zone#/usr/share/zoneinfo/}"
}

# frame_lines SOURCE: frames the lines on stdin. `ulimit` ends sed when a line never ends.
frame_lines() {
  (ulimit -v 500000; exec stdbuf -oL sed -e 's/.\{2900\}/&+\n/g' -e 's/$/./') | stdbuf -oL sed "s/^/$number $1 /"
}

probe_agent() {
  find_account
  [ -n "$uid" ] || printf '%s - no-account\n' "$number"
  [ "$(systemctl show --property LoadState --value -- "$unit")" != not-found ] || printf '%s - no-unit\n' "$number"
}

# probe_journal MORE...
probe_journal() {
  journalctl --quiet --no-pager --all --output json --output-fields MESSAGE,PRIORITY,_LINE_BREAK,_STREAM_ID \
    --unit "$unit" "$@" 2>/dev/null </dev/null | frame_lines journal
}

journal_past() {
  probe_journal --lines "$journal_lines" ${from:+--since "@$from"} ${until:+--until "@$until"}
}

# probe_size FILE: sets `offset` to the end of the last whole line: half a line may be half a secret.
probe_size() {
  offset=0
  [ -z "$uid" ] || offset=$(as_agent /bin/sh -c "$whole_size" sh "$1")
  offset=${offset:-0}
}

# probe_past NAME FILE LOOSE: the entries up to `offset`. Each line of a loose file is an entry, without a time.
probe_past() {
  [ -n "$uid" ] || return 0
  loose=$3
  # After a lost connection, clm finds the new lines itself: without times they cannot be selected here.
  case $loose,$again in yes,yes) from='' lines=500 ;; esac
  as_agent /bin/sh -c "$past" sh "$2" "$offset" "${from:-0}" "$bytes" | recent | frame_lines "$1"
}

# The bytes of a file up to its last newline.
whole_size='PATH=/usr/bin:/bin
[ -f "$1" ] && size=$(stat -Lc %s -- "$1") && [ "$size" -gt 0 ] || { echo 0; exit; }
from=$((size > 1048576 ? size - 1048576 : 0))
part() { tail -c "+$((from + 1))" -- "$1" | head -c "$((size - from))"; }
[ "$(part "$1" | tail -c 1 | wc -l)" = 1 ] || size=$((size - $(part "$1" | tail -n 1 | wc -c)))
echo "$size"'

# The last bytes of the rotated files and of the file itself, without the first line where it is cut.
past='PATH=/usr/bin:/bin
part() {
  if [ "$2" -le "$3" ]; then head -c "$2" -- "$1"; else tail -c "+$(($2 - $3 + 1))" -- "$1" | head -c "$3" | sed 1d; fi
}
for old in "$1.3" "$1.2" "$1.1"; do
  [ -f "$old" ] && [ "$(stat -Lc %Y -- "$old")" -ge "$3" ] && part "$old" "$(stat -Lc %s -- "$old")" "$4"
done
[ "$2" = 0 ] || part "$1" "$2" "$4"'

# Filters stdin by time and level, and prints the last `lines` entries (0: all). A line without a time continues the
# entry before it, except in a loose file.
recent() {
  awk -v from="${from:+$(date -d "@$from" '+%F %T')}" -v to="${until:+$(date -d "@$until" '+%F %T')}" \
    -v max="$lines" -v min_level="$min_level" -v loose="$loose" '
    function rank(word) {
      gsub(/[^A-Z]/, "", word)
      return word == "DEBUG" ? 0 : word ~ /^WARN(ING)?$/ ? 2 : word ~ /^(ERROR|CRITICAL|FATAL)$/ ? 3 : 1
    }
    {
      stamp = ""
      if (/^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][ T][0-9][0-9]:[0-9][0-9]:[0-9][0-9]/) stamp = $0
      else if (/^=+ \[[0-9]+-/) stamp = substr($0, index($0, "[") + 1)
      if (stamp != "") time = substr(stamp, 1, 10) " " substr(stamp, 12, 8)
      if (stamp != "" || loose) {
        kept = (from == "" || time >= from) && (to == "" || time <= to) && (loose || rank(substr(stamp, 11, 1) == "T" ? $2 : $3) >= min_level)
        if (kept && max > 0) {
          first[++entries] = count + 1
          if (entries > max) while (gone < first[entries - max + 1] - 1) delete line[++gone]
        }
      }
      if (!kept) next
      if (max > 0) line[++count] = $0
      else print
    }
    END { for (at = gone + 1; at <= count; at++) print line[at] }'
}

# follow NAME FILE OFFSET: continues with the new file when it is rotated.
follow() {
  [ -n "$uid" ] || return 0
  file=$2 begin="-c +$(($3 + 1))"
  # The options are for hosts without inotify, as on an overlay: how often tail polls, and after how many polls it looks
  # for a new file. tail ends when the path is no longer a file, or its output cannot be written.
  while :; do
    as_agent tail -s 0.05 --max-unchanged-stats 4 $begin -F -- "$file" | frame_lines "$1"
    begin='-n 0'
    sleep 1
  done
}
