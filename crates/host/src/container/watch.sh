# loop-watch: waits in the container beside the agent, finds the processes with the marks of the run ($1 in the environment, $2 as a
# limit) and signals them. It starts nothing, so that it works where no more processes may be; one line in, one out.
find_marked() {
  marked= others=
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/} state= parent= threads=1 hit=
    if [ "$pid" = 1 ]; then continue; fi
    while read -r word value _; do
      case $word in
        State:) state=$value ;;
        PPid:) parent=$value ;;
        Threads:) threads=$value; break ;;
      esac
    done 2>/dev/null <"$folder/status" || continue
    # Dead and not reaped yet; one of which only the first thread has ended is alive.
    case $state in
      '') continue ;;
      Z | X) if [ "$threads" -le 1 ]; then continue; fi ;;
    esac
    while read -r word second third soft hard _; do
      if [ "$word $second $third" = 'Max resident set' ]; then
        if [ "$soft" = "$2" ] || [ "$hard" = "$2" ]; then hit=yes; fi
        break
      fi
    done 2>/dev/null <"$folder/limits"
    if [ -z "$hit" ]; then
      while IFS= read -r line || [ -n "$line" ]; do
        case $line in *"$1"*) hit=yes; break ;; esac
      done 2>/dev/null <"$folder/environ"
    fi
    if [ -n "$hit" ]; then marked="$marked $pid"; else others="$others $pid:$parent"; fi
  done
  # Their descendants.
  again=yes
  while [ -n "$again" ]; do
    again= rest=
    for other in $others; do
      case "$marked " in
        *" ${other#*:} "*) marked="$marked ${other%:*}" again=yes ;;
        *) rest="$rest $other" ;;
      esac
    done
    others=$rest
  done
}
send() {
  if [ -n "$marked" ]; then kill "-$1" $marked; fi
} 2>/dev/null
trap '' TERM INT HUP PIPE
echo ready
while read -r order signal; do
  if [ "$order" = bye ]; then exit 0; fi
  find_marked "$1" "$2"
  if [ "$order" = send ]; then send "$signal"; fi
  echo "seen$marked"
done
# The other end of stdin is gone.
find_marked "$1" "$2"
send TERM
send CONT
if [ -n "$marked" ]; then sleep 1; fi 2>/dev/null
passes=0
while [ "$passes" -lt 100 ]; do
  passes=$((passes + 1))
  find_marked "$1" "$2"
  if [ -z "$marked" ]; then exit 0; fi
  send STOP
  send KILL
done
