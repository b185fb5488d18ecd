# A dead man's switch. clm writes a heartbeat byte to stdin now and then. Returns when stdin ends (clm was killed) or
# stays silent (the network was cut, which sshd may take hours to notice); with status 0 only after the byte for "done".
beat() {
  while byte=$(timeout --foreground "$silence" dd bs=1 count=1 status=none 2>/dev/null); [ "$byte" = . ]; do :; done
  [ "$byte" = ! ]
}
