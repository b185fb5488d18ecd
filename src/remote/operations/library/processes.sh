# Ends every process of a user.

# end_processes UID GID: sends SIGTERM, waits, then SIGKILL. A list of processes can miss one that keeps forking (seen:
# one time in seven) and is out of date at once. `kill(-1)` with that user's rights signals all its processes in one
# pass of the kernel, during which none can fork: so it is sent even when the list is empty.
end_processes() {
  [ "$1" -gt 0 ] || return 1
  if has_processes "$1"; then
    signal_all "$1" "$2" TERM
    left=40
    while [ "$left" -gt 0 ] && has_processes "$1"; do
      sleep 0.1
      left=$((left - 1))
    done
  fi
  left=40
  while [ "$left" -gt 0 ]; do
    if signal_all "$1" "$2" KILL && ! has_processes "$1"; then return 0; fi
    sleep 0.1
    left=$((left - 1))
  done
  return 1
}

# signal_all UID GID SIGNAL: signals all processes of a user. They can kill or stop a sender with that user's real uid
# (seen: processes that fork and kill survived). Perl takes the user's effective uid but another real uid, which they
# cannot signal; an exec would lose that.
signal_all() {
  timeout -k 2 10 perl -e "$signal_all_program" "$1" "$3" 9>&- 2>/dev/null && return
  # Without perl, or without a free uid.
  timeout -k 2 10 setpriv --reuid "$1" --regid "$2" --clear-groups --no-new-privs -- /bin/sh -c "kill -$3 -1" 9>&- 2>/dev/null
  # 1: there was no process to signal. 124: it was stopped. 128 and more: a signal ended it.
  [ $? -le 1 ]
}

# The first uid is unused everywhere, but a container with only 65536 uids cannot set it. With real uid 0, kill(-1)
# would end everything on the host: nothing is sent unless /proc/self/status confirms the uids.
signal_all_program='
my ($user, $signal) = @ARGV;
my $nobody;
for $nobody (4294967290, 65533, 65532, 65531, 65530) {
  next if $nobody == $user || defined getpwuid $nobody;
  $< = $nobody;
  last if $< == $nobody;
}
$nobody = $<;
$> = $user;
open my $status, "<", "/proc/self/status" or exit 3;
my $text = join "", <$status>;
exit 3 unless $user > 0 && $nobody > 0 && $text =~ /^Uid:\t$nobody\t$user\t0\t$user$/m && $text =~ /^CapEff:\t0+$/m;
kill $signal, -1;
exit 0'

# A process that ends between the list and the check may have left an unlisted child, so it counts. A zombie does not
# count, unless other threads of it still run.
has_processes() {
  for process in $(stat -c %u:%n /proc/[0-9]* 2>/dev/null); do
    case $process in "$1":*) ;; *) continue ;; esac
    read -r stat 2>/dev/null <"${process#*:}/stat" || return 0
    has_ended "${stat##*) }" || return 0
  done
  return 1
}

# has_ended STAT: of the fields of /proc/PID/stat from the state on, the 18th is the number of threads.
has_ended() {
  case $1 in Z* | X*) ;; *) return 1 ;; esac
  set -- $1
  [ "${18:-0}" -le 1 ]
}
