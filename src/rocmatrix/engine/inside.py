"""Shell programs that run inside a container: the command's own, and the look at what became of it."""

from __future__ import annotations

from rocmatrix.engine.confinement import INPUTS, RESULTS

RUN = """\
read -r go || exit 125
cd "$1" || exit 126
shift
"$@" </dev/null
status=$?
round=0
while [ "$round" -lt 40 ]; do
  round=$((round + 1))
  signal=KILL
  [ "$round" -gt 2 ] || signal=STOP
  found=
  for process in /proc/[0-9]*; do
    number=${process#/proc/}
    [ "$number" = "$$" ] && continue
    { IFS= read -r line || [ -n "$line" ]; } 2>/dev/null <"$process/environ" || continue
    case $line in *"ROCMATRIX_COMMAND=$ROCMATRIX_COMMAND"*) kill -s "$signal" "$number" && found=yes ;; esac
  done 2>/dev/null
  [ -n "$found" ] || exit "$status"
done
exit 123
"""
"""Waits until its output is read, runs the command, then ends what the command left behind.

It needs no process beside its own, since there may be none left to have. What was stopped first cannot fork while
others are killed; what was killed takes its time to go, so that it is looked for again and again. The last exit status
says that something of the command still runs.
"""

LOOK = (
    "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null | grep '^oom_kill '; "
    "cat /sys/fs/cgroup/pids.events /sys/fs/cgroup/pids/pids.events 2>/dev/null; "
    f"for folder in {INPUTS} {RESULTS} /tmp; do stat -f -c 'free %a %S' $folder; done"
)
"""Counts kills for want of memory and refused processes (cgroup v2, then v1), then free room where one can write."""
