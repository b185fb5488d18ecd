# Whoever holds us by our stdin writes a byte to it now and then. Returns when that is over: when stdin ends, as clm was killed,
# and when it stays silent, as the network was cut, which sshd may take hours to notice. Only who was told that all is done
# has nothing left to end.
beat() {
  while byte=$(timeout --foreground "$patience" dd bs=1 count=1 status=none 2>/dev/null); [ "$byte" = . ]; do :; done
  [ "$byte" = ! ]
}
