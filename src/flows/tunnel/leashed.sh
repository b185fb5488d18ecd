# Runs "$@" until it ends, or until nobody writes a byte to our stdin any more: when clm was killed that ends, and when the
# network was cut it stays silent, which sshd may take hours to notice. What is left when this ends, the unit ends.
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{
  while [ -n "$(timeout "$patience" dd bs=1 count=1 status=none <&3 2>/dev/null)" ]; do :; done
  kill $$
} &
wait $child
