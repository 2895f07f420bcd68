# shellcheck shell=bash
# Daemons that a script of tests starts and ends, for `source`. $daemons is a folder: NAME.process holds a daemon's pid and start time.

start_ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
is_zombie() { [[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == [ZX]* ]]; }

# live NAME: prints the pid of the daemon while it is the process that was started, and not another of the same number
# shellcheck disable=SC2154  # the script that sources this sets it
live() {
  local pid ticks
  read -r pid ticks 2>/dev/null < "$daemons/$1.process" || return 1
  [ -n "$ticks" ] && [ "$(start_ticks "$pid")" = "$ticks" ] && ! is_zombie "$pid" && echo "$pid"
}

# wait_for TENTHS COMMAND...: until the command succeeds
wait_for() {
  local tenths=$1 i
  shift
  for ((i = 0; i < tenths; i++)); do "$@" > /dev/null 2>&1 && return 0; sleep 0.1; done
  return 1
}

gone() { ! live "$1"; }

# end_daemon NAME [TENTHS]: SIGTERM, and SIGKILL if it has not ended by then
end_daemon() {
  local pid
  pid=$(live "$1") || return 0
  kill -CONT "$pid" 2>/dev/null
  kill -TERM "$pid" 2>/dev/null
  wait_for "${2:-50}" gone "$1" && return 0
  kill -KILL "$pid" 2>/dev/null
  wait_for 50 gone "$1"
}
