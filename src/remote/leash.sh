# clm writes a byte to our stdin now and then. Returns when stdin ends (clm was killed) or stays silent (the network was cut,
# which sshd may take hours to notice). The status is 0 only after the byte for "all is done".
beat() {
  while byte=$(timeout --foreground "$silence" dd bs=1 count=1 status=none 2>/dev/null); [ "$byte" = . ]; do :; done
  [ "$byte" = ! ]
}
