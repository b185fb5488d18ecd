# Ends every process of a user.

# end_processes UID GID: asks, waits, then kills. A list of processes misses one that keeps forking (seen: one look in
# seven) and is old before it is used. `kill(-1)` with that user's rights is one pass of the kernel over all its
# processes, in which none can fork. So it is done even when no process was seen, and only the pass counts.
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

# signal_all UID GID SIGNAL: whether all of the user's processes were sent it. They could kill or stop a sender that has
# only that user's rights (seen: a chain that forks and kills survived). Perl can have those rights for sending alone,
# with another real user, so that they cannot reach it; an exec would lose that.
signal_all() {
  timeout -k 2 10 perl -e "$signal_all_program" "$1" "$3" 9>&- 2>/dev/null && return
  # No perl, or no other user it could be.
  timeout -k 2 10 setpriv --reuid "$1" --regid "$2" --clear-groups --no-new-privs -- /bin/sh -c "kill -$3 -1" 9>&- 2>/dev/null
  # 128 and more: a signal ended it. 124: it was stopped. 1: there was no process to signal.
  [ $? -le 1 ]
}

# The first uid is no user's anywhere; a container that has only 65536 uids does not know it. With the real user 0,
# kill(-1) would end everything on the host: nothing is sent unless the kernel confirms whose rights these are.
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

# A process that ended between the list and the check may have left a child that is not listed: then the answer is yes.
# A zombie does not count, unless only its first thread has ended and others run on.
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
