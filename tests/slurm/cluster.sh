#!/usr/bin/env bash
# A real Slurm (22.05 to 26.05) of its own on this machine, for tests: 4 slurmd, GPUs as generic resources, free ports, all files in one folder.
#   cluster.sh start DIR [--accounting] [--nodes N] [--memory-limits] [--set Key=Value]...   rc 77: Slurm is not installed (the reason on stderr)
#       --memory-limits: cgroups limit memory, so that Slurm says OUT_OF_MEMORY; one node, root, cgroup v1
#   cluster.sh stop DIR                     ends daemons and jobs, removes DIR
#   cluster.sh env DIR                      prints what a client needs: eval "$(cluster.sh env DIR)"
#   cluster.sh kill|pause|cont|revive DIR DAEMON     ctld, dbd, munge, n0, n1 ... (kill: SIGKILL, pause: SIGSTOP)
# Partitions: main (default), short (5 minutes at most), preemptable, evictable and lenient (give way to urgent: requeued, cancelled, cancelled after a grace), urgent, closed (down).
set -u
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
readonly kSkipped=77
die() { echo "cluster.sh: error: $*" >&2; exit 1; }
skip() { echo "cluster.sh: skipped: $*" >&2; exit $kSkipped; }

command=${1-}
dir=${2-}
case $command in
  start | stop | env | kill | pause | cont | revive) ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
[[ $dir =~ ^/[A-Za-z0-9._/+-]+$ ]] || die "the folder must be an absolute path of letters, digits and ._/+- (it stands in slurm.conf): '$dir'"
[ ${#dir} -le 80 ] || die "$dir is too long: sockets below it must stay under 108 characters"
shift 2
conf=$dir/slurm.conf

# ---- processes: each daemon stays in the foreground of a session that we start, so its pid and start time are ours to write down
daemons=$dir/run
# shellcheck source=tests/daemons.sh
source "$(dirname "${BASH_SOURCE[0]}")/../daemons.sh"

# spawn NAME COMMAND...: starts a daemon that keeps nothing of ours open
spawn() {
  local name=$1
  shift
  (
    for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done
    exec setsid "$@"
  ) < /dev/null >> "$dir/log/$name.out" 2>&1 &
  local pid=$!
  echo "$pid $(start_ticks "$pid")" > "$dir/run/$name.process"
  disown "$pid"
}

complain() { # NAME WHAT: the end of its logs, then the error
  tail -n 8 "$dir/log/$1.out" "$dir/log/$1.log" >&2 2>/dev/null
  die "$1 $2"
}

# ---- configuration
# is_at_least VERSION: whether this Slurm is as new; its programs call themselves `slurm-wlm 22.05.8`
is_at_least() { [ "$(printf '%s\n' "$1" "$version" | sort -V | head -n 1)" = "$1" ]; }
port_is_free() { ! grep -qiE "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$1") " /proc/net/tcp /proc/net/tcp6 2>/dev/null; }
# free_ports COUNT: the first of so many in a row, below the range from which the kernel takes its own
free_ports() {
  local first port try
  for ((try = 0; try < 100; try++)); do
    first=$((21000 + (RANDOM * 32768 + RANDOM) % (11000 - $1)))
    for ((port = first; port < first + $1; port++)); do port_is_free "$port" || continue 2; done
    echo "$first"
    return
  done
  die "found no $1 free ports in a row"
}

write_configuration() {
  local host ports names me last=$((nodes - 1)) file version task=()
  version=$(slurmctld -V | grep -oE '[0-9]+(\.[0-9]+)+') || die "slurmctld -V names no version"
  host=$(uname -n)
  host=${host%%.*}
  me=$(id -un)
  ports=$(free_ports $((nodes + 2))) || exit 1
  names="n[0-$last]"
  for file in 0 1; do mknod "$dir/dev/gpu$file" c 195 "$file" 2>/dev/null || : > "$dir/dev/gpu$file"; done
  echo "NodeName=$names Name=gpu Type=a100 File=$dir/dev/gpu[0-1]" > "$dir/gres.conf"
  if [ "$memory_limits" = yes ]; then
    task=(TaskPlugin=task/cgroup)
    echo "ConstrainRAMSpace=yes" >> "$dir/cgroup.conf"
  fi
  if is_at_least 24.05 && [[ "${task[*]-} ${settings[*]-}" != */cgroup* ]]; then
    echo "CgroupPlugin=disabled" >> "$dir/cgroup.conf"
  else
    echo "CgroupPlugin=cgroup/v1" >> "$dir/cgroup.conf"
    is_at_least 23.11 || echo "CgroupAutomount=no" >> "$dir/cgroup.conf"  # newer ones never do
  fi
  {
    echo "ClusterName=hpcbenchtest"
    echo "SlurmctldHost=$host(127.0.0.1)"
    echo "SlurmctldPort=$ports"
    echo "SlurmUser=$me"
    echo "SlurmdUser=$me"
    echo "AuthType=auth/munge"
    echo "AuthInfo=socket=$dir/run/munge.socket,cred_expire=5"
    echo "StateSaveLocation=$dir/state"
    echo "SlurmdSpoolDir=$dir/spool/%n"
    echo "SlurmctldPidFile=$dir/run/slurmctld.pid"
    echo "SlurmdPidFile=$dir/run/slurmd.%n.pid"
    echo "SlurmctldLogFile=$dir/log/ctld.log"
    echo "SlurmdLogFile=$dir/log/%n.log"
    echo "ProctrackType=proctrack/linuxproc"
    echo "JobAcctGatherType=jobacct_gather/linux"
    echo "MailProg=/bin/true"
    echo "SelectType=select/cons_tres"
    echo "SelectTypeParameters=CR_Core_Memory"
    echo "DefMemPerCPU=100"
    echo "SchedulerType=sched/backfill"
    echo "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,default_queue_depth=1000,bf_interval=1,bf_continue"
    echo "PriorityType=priority/basic"
    echo "PreemptType=preempt/partition_prio"
    echo "PreemptMode=REQUEUE"
    echo "SlurmdParameters=config_overrides"
    echo "GresTypes=gpu"
    echo "JobRequeue=1"
    echo "ReturnToService=2"
    echo "EnforcePartLimits=ALL"
    echo "KillWait=2"
    echo "CompleteWait=0"
    echo "InactiveLimit=0"
    echo "MaxJobCount=20000"
    echo "TCPTimeout=2"
    if [ "$accounting" = yes ]; then
      echo "AccountingStorageType=accounting_storage/slurmdbd"
      echo "AccountingStorageHost=127.0.0.1"
      echo "AccountingStoragePort=$((ports + 1))"
      echo "AccountingStoragePass=$dir/run/munge.socket"
      echo "AccountingStorageEnforce=associations,limits,qos"
      echo "AccountingStorageTRES=gres/gpu"
    fi
    local defaults=(${task[@]+"${task[@]}"} MinJobAge=300 MessageTimeout=10 SlurmctldTimeout=60 SlurmdTimeout=15 MaxArraySize=1001) line
    for line in "${defaults[@]}"; do
      printf '%s\n' ${settings[@]+"${settings[@]}"} | grep -q "^${line%%=*}=" || echo "$line"
    done
    printf '%s\n' ${settings[@]+"${settings[@]}"}
    echo "NodeName=$names NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((ports + 2))-$((ports + 1 + nodes))] CPUs=8 RealMemory=64000 Gres=gpu:a100:2"
    echo "PartitionName=main Nodes=$names Default=YES MaxTime=INFINITE DefaultTime=60 PriorityTier=10 PreemptMode=OFF"
    echo "PartitionName=short Nodes=$names MaxTime=5 DefaultTime=1 PriorityTier=10 PreemptMode=OFF"
    echo "PartitionName=preemptable Nodes=$names DefaultTime=60 PriorityTier=1 PreemptMode=REQUEUE"
    echo "PartitionName=evictable Nodes=$names DefaultTime=60 PriorityTier=1 PreemptMode=CANCEL GraceTime=0"
    echo "PartitionName=lenient Nodes=$names DefaultTime=60 PriorityTier=1 PreemptMode=CANCEL GraceTime=60"
    echo "PartitionName=urgent Nodes=$names DefaultTime=60 PriorityTier=100 PreemptMode=OFF"
    echo "PartitionName=closed Nodes=$names DefaultTime=60 PriorityTier=10 State=DOWN"
  } > "$conf"
  [ "$accounting" = yes ] || return 0
  printf '%s\n' "AuthType=auth/munge" "AuthInfo=$dir/run/munge.socket" "DbdHost=$host" "DbdAddr=127.0.0.1" "DbdPort=$((ports + 1))" \
    "SlurmUser=$me" "PidFile=$dir/run/slurmdbd.pid" "LogFile=$dir/log/dbd.log" "StorageType=accounting_storage/mysql" "StorageHost=localhost" \
    "StorageUser=slurm" "StorageLoc=slurm_acct_db" "CommitDelay=1" > "$dir/slurmdbd.conf"
  chmod 600 "$dir/slurmdbd.conf"
}

# ---- the daemons
node_names() { sed -n 's/^NodeName=n\[0-\([0-9]*\)\].*/\1/p' "$conf" | { read -r last; seq -f 'n%g' 0 "$last"; }; }
sql() { mariadb --no-defaults -S "$dir/run/db.socket" -u root -e "$1"; }
nodes_answer() { ! sinfo -h -N -p main -o '%t' | grep -qvE '^(idle|mix|alloc|comp)$'; }

start_munge() {
  [ -s "$dir/munge.key" ] || (umask 077; head -c 128 /dev/urandom > "$dir/munge.key")
  rm -f "$dir/run/munge.socket" "$dir/run/munge.socket.lock"
  spawn munge munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/run/munge.socket" --pid-file="$dir/run/munged.pid" \
    --log-file="$dir/log/munge.log" --seed-file="$dir/munge.seed"
  wait_for 100 munge -S "$dir/run/munge.socket" -n || complain munge "does not answer"
}
start_db() {
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$dir/db" --skip-test-db --auth-root-authentication-method=normal \
    > "$dir/log/db.out" 2>&1 || complain db "could not be made"
  spawn db mariadbd --no-defaults --user="$(id -un)" --datadir="$dir/db" --socket="$dir/run/db.socket" --pid-file="$dir/run/mariadbd.pid" \
    --skip-networking --skip-log-bin --innodb-buffer-pool-size=64M --innodb-log-file-size=32M --innodb-lock-wait-timeout=900 \
    --innodb-flush-log-at-trx-commit=2
  wait_for 300 sql 'select 1' || complain db "does not answer"
  sql 'create user slurm@localhost; create database slurm_acct_db; grant all on slurm_acct_db.* to slurm@localhost' || die "could not make the database"
}
start_dbd() {
  spawn dbd env MYSQL_UNIX_PORT="$dir/run/db.socket" SLURM_CONF="$conf" slurmdbd -D
  wait_for 400 sacctmgr -n -r list cluster || complain dbd "does not answer"
}
start_ctld() {
  spawn ctld slurmctld -D -f "$conf"
  wait_for 200 controller_answers || complain ctld "does not answer"
}
controller_answers() { scontrol ping | grep -q 'is UP'; }
start_node() { mkdir -p "$dir/spool/$1"; spawn "$1" slurmd -D -f "$conf" -N "$1"; }
add_account() {
  sacctmgr -n -P list cluster format=cluster | grep -q hpcbenchtest || sacctmgr -i add cluster hpcbenchtest
  sacctmgr -i add account bench Description=bench Organization=bench
  sacctmgr -i add qos tight MaxSubmitJobsPerUser=2 Flags=DenyOnLimit
  sacctmgr -i add qos together GrpSubmitJobs=3 Flags=DenyOnLimit
  sacctmgr -i add qos brief MaxWall=00:05:00 Flags=DenyOnLimit
  sacctmgr -i add user "$(id -un)" account=bench
  sacctmgr -i modify user "$(id -un)" set qos=normal,tight,together,brief defaultqos=normal
}

start() {
  nodes=4 accounting=no memory_limits=no settings=()
  while [ $# -gt 0 ]; do
    case $1 in
      --accounting) accounting=yes; shift ;;
      --memory-limits) memory_limits=yes nodes=1; shift ;;
      --nodes) nodes=$2; shift 2 ;;
      --set) settings+=("$2"); shift 2 ;;
      *) die "start does not know '$1'" ;;
    esac
  done
  local needed=(slurmctld slurmd sbatch munged munge setsid flock) program
  [ "$accounting" = no ] || needed+=(slurmdbd mariadbd mariadb-install-db)
  for program in "${needed[@]}"; do
    command -v "$program" > /dev/null || skip "there is no $program (scripts/setup.sh installs it for the checks)"
  done
  [[ $nodes =~ ^[1-9][0-9]?$ ]] || die "--nodes must be 1 to 99"
  if [ "$memory_limits" = yes ]; then
    [ "$(id -u)" -eq 0 ] || skip "memory limits need root"
    [ -w /sys/fs/cgroup/memory ] || skip "memory limits need the memory controller of cgroup v1 at /sys/fs/cgroup/memory"
  fi
  [ ! -e "$conf" ] || die "$dir has a cluster already"
  mkdir -p "$dir"/{run,log,state,spool,dev,db} || die "cannot make $dir"
  chmod 755 "$dir" "$dir/run"
  # Two that start at once must not choose the same ports.
  exec 8> "/tmp/hpcbench-test-slurm.$(id -u).lock"
  flock -w 120 8 || die "another cluster has been starting for two minutes"
  write_configuration
  export SLURM_CONF=$conf
  start_munge
  if [ "$accounting" = yes ]; then
    start_db
    start_dbd
    add_account > "$dir/log/accounts.out" 2>&1
    sacctmgr -n -P list associations format=account | grep -q bench || { cat "$dir/log/accounts.out" >&2; die "could not make the account"; }
  fi
  start_ctld
  for node in $(node_names); do start_node "$node"; done
  wait_for 400 nodes_answer || complain n0 "or another slurmd does not answer"
}

# What jobs left: step daemons of a slurmd that died (they hold its log open), processes whose environment names this cluster and a job.
left_by_jobs() {
  local process pid
  for process in /proc/[0-9]*; do
    pid=${process#/proc/}
    if [[ $(readlink "$process/exe" 2>/dev/null) == */slurmstepd* ]]; then
      readlink "$process"/fd/* 2>/dev/null | grep -qF "$dir/" && echo "$pid"
    elif grep -qzxF "SLURM_CONF=$conf" "$process/environ" 2>/dev/null && grep -qzE '^SLURM_JOB_ID=' "$process/environ" 2>/dev/null; then
      [ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || [ "$pid" = "$PPID" ] || echo "$pid"
    fi
  done
}

stop() {
  [ -d "$dir" ] || return 0
  [ -d "$dir/run" ] || die "$dir was not made by this script; leaving it alone"
  export SLURM_CONF=$conf
  local file name pid
  if [ -e "$conf" ] && live ctld > /dev/null; then
    kill -CONT "$(live ctld)" 2>/dev/null
    timeout 10 scancel -u "$(id -un)" > /dev/null 2>&1
  fi
  end_daemon ctld 150
  for file in "$dir"/run/n*.process; do
    pid=$(live "$(basename "$file" .process)") && kill -CONT "$pid" && kill -TERM "$pid"
  done 2>/dev/null
  for file in "$dir"/run/n*.process; do [ -e "$file" ] && end_daemon "$(basename "$file" .process)"; done
  for _ in 1 2 3; do
    pid=$(left_by_jobs)
    [ -n "$pid" ] || break
    # shellcheck disable=SC2086
    kill -KILL $pid 2>/dev/null
    sleep 0.2
  done
  for name in dbd db munge; do end_daemon $name 300; done
  # Groups that Slurm made and left; those of others are not empty and stay.
  if grep -qs ConstrainRAMSpace "$dir/cgroup.conf"; then
    find /sys/fs/cgroup/memory/slurm_n0 -depth -type d -exec rmdir {} + 2>/dev/null
  fi
  if grep -qs '^ProctrackType=proctrack/cgroup' "$conf"; then
    find /sys/fs/cgroup/freezer/slurm_n* -depth -type d -exec rmdir {} + 2>/dev/null
  fi
  rm -rf "$dir"
}

one_daemon() { # ACTION NAME
  local pid
  export SLURM_CONF=$conf
  if [ "$1" = revive ]; then
    live "$2" > /dev/null && return 0
    case $2 in
      ctld) start_ctld ;;
      dbd) start_dbd ;;
      munge) start_munge ;;
      n[0-9]*) start_node "$2" ;;
      *) die "there is no daemon '$2'" ;;
    esac
    return
  fi
  pid=$(live "$2") || die "$2 does not run"
  case $1 in
    kill) kill -KILL "$pid"; wait_for 50 gone "$2" ;;
    pause) kill -STOP "$pid" ;;
    cont) kill -CONT "$pid" ;;
  esac
}

case $command in
  start) start "$@" ;;
  stop) stop ;;
  env) [ -e "$conf" ] || die "there is no cluster in $dir"
    printf 'export SLURM_CONF=%q\nexport PATH=%q\n' "$conf" "$PATH" ;;
  *) [ -e "$conf" ] || die "there is no cluster in $dir"
    one_daemon "$command" "${1-}" ;;
esac
