#!/usr/bin/env bash
# A real Grid Engine (Debian 12: 8.1.9) of its own on this machine, for tests: one host with slots, free ports, all files in one folder.
#   cluster.sh start DIR [--slots N]    rc 77: Grid Engine cannot run here (the reason on stderr)
#   cluster.sh stop DIR                 ends daemons and jobs, removes DIR
#   cluster.sh env DIR                  prints what a client needs: eval "$(cluster.sh env DIR)"
# Needs root, whose jobs it takes, too; its master runs as sgeadmin.
set -u
export LC_ALL=C
readonly kSkipped=77
die() { echo "cluster.sh: error: $*" >&2; exit 1; }
skip() { echo "cluster.sh: skipped: $*" >&2; exit $kSkipped; }

command=${1-}
dir=${2-}
case $command in
  start | stop | env) ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
[[ $dir =~ ^/[A-Za-z0-9._/-]+$ ]] || die "the folder must be an absolute path of letters, digits and ._/-: '$dir'"
shift 2

daemons=$dir
# shellcheck source=tests/daemons.sh
source "$(dirname "${BASH_SOURCE[0]}")/../daemons.sh"

print_env() {
  echo "export SGE_ROOT=$dir/root SGE_CELL=default SGE_QMASTER_PORT=$(sed -n 1p "$dir/ports") SGE_EXECD_PORT=$(sed -n 2p "$dir/ports")"
}
free_ports() {
  python3 -c 'import socket
held = [socket.socket() for _ in range(2)]
for each in held: each.bind(("127.0.0.1", 0)); print(each.getsockname()[1])'
}
as_admin() { setpriv --reuid sgeadmin --regid sgeadmin --clear-groups -- "$@"; }
# note NAME FILE: the pid that a daemon wrote
note() {
  local pid
  read -r pid < "$2" || return 1
  echo "$pid $(start_ticks "$pid")" > "$dir/$1.process"
}

case $command in
  env) [ -e "$dir/ports" ] || die "no Grid Engine in $dir"; print_env; exit 0 ;;
  stop)
    [ -e "$dir/ports" ] || exit 0
    eval "$(print_env)"
    qdel -f -u '*' > /dev/null 2>&1
    # shellcheck disable=SC2016  # the inner shell expands it
    wait_for 30 bash -c '[ -z "$(qstat -u "*")" ]'
    end_daemon execd 100; end_daemon qmaster 100
    rm -rf "$dir"
    exit 0
    ;;
esac

slots=2
while [ $# -gt 0 ]; do
  case $1 in
    --slots) slots=$2; shift 2 ;;
    *) die "unknown option $1" ;;
  esac
done
for program in /usr/sbin/sge_qmaster /usr/sbin/sge_execd /usr/bin/qsub; do
  [ -x "$program" ] || skip "Grid Engine is not installed: scripts/setup.sh --checks (Debian 12: gridengine-master, -exec, -client)"
done
[ "$(id -u)" -eq 0 ] || skip "its daemons must be started by root"
[ ! -e "$dir" ] || die "$dir exists already"
mkdir -p "$dir/root/default/common" "$dir/spool/qmaster/job_scripts" "$dir/spool/execd" "$dir/spool/db" || die "cannot write $dir"
free_ports > "$dir/ports"
for part in bin lib util utilbin; do ln -s "/var/lib/gridengine/$part" "$dir/root/$part"; done
common=$dir/root/default/common
sed "s|/var/spool/gridengine/spooldb|$dir/spool/db|; s|/var/spool/gridengine|$dir/spool|" /usr/share/gridengine/default-bootstrap > "$common/bootstrap"
sed "s|/var/spool/gridengine|$dir/spool|; s|^min_uid .*|min_uid 0|; s|^min_gid .*|min_gid 0|" /usr/share/gridengine/default-configuration > "$dir/configuration"
echo "localhost $(hostname)" > "$common/host_aliases"
echo localhost > "$common/act_qmaster"
chown -R sgeadmin "$dir/root" "$dir/spool" "$dir/configuration"
eval "$(print_env)"
defaults() { as_admin /usr/lib/gridengine/spooldefaults "$@"; }
{
  as_admin /usr/lib/gridengine/spoolinit berkeleydb libspoolb "$dir/spool/db" init && defaults configuration "$dir/configuration" &&
    defaults complexes /usr/share/gridengine/util/resources/centry && defaults usersets /usr/share/gridengine/util/resources/usersets &&
    defaults managers sgeadmin
} > "$dir/init.log" 2>&1 || { cat "$dir/init.log" >&2; die "Grid Engine could not be set up"; }

fail() { cat "$dir"/*.log "$dir"/spool/qmaster/messages >&2 2>/dev/null; "${BASH_SOURCE[0]}" stop "$dir"; die "$1"; }
as_admin /usr/sbin/sge_qmaster > "$dir/qmaster.log" 2>&1
wait_for 200 note qmaster "$dir/spool/qmaster/qmaster.pid" || fail "sge_qmaster does not start"
wait_for 200 as_admin qconf -sh || fail "sge_qmaster does not answer"
as_admin qconf -am root > "$dir/qconf.log" 2>&1  # most know root already
as_admin qconf -as localhost > "$dir/qconf.log" 2>&1 || fail "Grid Engine takes no host for submissions"
as_admin qconf -ah localhost > "$dir/qconf.log" 2>&1
/usr/sbin/sge_execd > "$dir/execd.log" 2>&1
wait_for 200 note execd "$(find "$dir/spool/execd" -name execd.pid 2>/dev/null | head -1)" || wait_for 200 bash -c "find '$dir/spool/execd' -name execd.pid | grep -q ." || fail "sge_execd does not start"
note execd "$(find "$dir/spool/execd" -name execd.pid | head -1)" || fail "sge_execd does not start"
# Jobs begin at once, and qsub answers at once.
qconf -ssconf | sed 's/^schedule_interval .*/schedule_interval 0:0:1/; s/^flush_submit_sec .*/flush_submit_sec 1/; s/^flush_finish_sec .*/flush_finish_sec 1/' > "$dir/scheduler"
qconf -Msconf "$dir/scheduler" > "$dir/qconf.log" 2>&1 || fail "the scheduler takes no configuration"
cat > "$dir/pe" <<END
pe_name            smp
slots              999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    \$pe_slots
control_slaves     FALSE
job_is_first_task  TRUE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
END
qconf -Ap "$dir/pe" > "$dir/qconf.log" 2>&1 || fail "the parallel environment is refused"
qconf -sq 2> /dev/null | sed "s/^qname .*/qname all.q/; s/^hostlist .*/hostlist localhost/; s/^slots .*/slots $slots/; s/^pe_list .*/pe_list smp/; s/^load_thresholds .*/load_thresholds NONE/; s/^shell .*/shell \/bin\/sh/" > "$dir/queue"
qconf -Aq "$dir/queue" > "$dir/qconf.log" 2>&1 || fail "the queue is refused"
wait_for 300 bash -c 'qstat -f | grep -q "^all.q@localhost.* [0-9.]* *[a-z0-9-]* *$"' || { qstat -f >&2; fail "the host does not answer"; }
