# bash completion of hpcbench; use: source <(hpcbench completion)
_hpcbench() {
  local word="${COMP_WORDS[COMP_CWORD]}" line="${COMP_LINE:0:COMP_POINT}"
  local typed="${line##*[[:space:]]}" option="" options="" commands="" values="" list="" kept="" cut=""
  local -a before
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "init check plan doctor run status watch cancel retry ingest report plot compare show logs export ls clean db launch rank help completion --help --version" -- "$word")
    return
  fi
  case "${COMP_WORDS[1]}" in
    init) options="--help --command --trainer --import --from-jube --tag --step" ;;
    check) options="--help --profile --site --set --only --results" ;;
    plan) options="--help --profile --site --set --only --results --repeats --format --scripts" ;;
    doctor) options="--help --profile --site --set --only --results --probe --probe-timeout" ;;
    run) options="--help --profile --site --set --only --results --repeats --yes --detach --slots --keep-going --simulate-nodes --max-failures --dry-run" ;;
    status) options="--help --profile --site --set --only --results --format --all" ;;
    watch) options="--help --profile --site --set --only --results --interval" ;;
    cancel) options="--help --profile --site --set --only --results --yes" ;;
    retry) options="--help --profile --site --set --only --results --yes --detach --slots --keep-going --simulate-nodes --max-failures --outcome --prepare" ;;
    ingest) options="--help --experiment --run --each --value --fact --outcome --statistic --n --note --profile --site --set --results" ;;
    report) options="--help --profile --site --set --only --results --format --output --metric --where --sort --time-unit --orphans --columns --group-by --speedup-style --methods --provenance --strict --table-only --caption --label --archive" ;;
    plot) options="--help --profile --site --set --only --results --metric --where --sort --time-unit --orphans --kind --out --png" ;;
    compare) options="--help --results --profile --site --set --only --metric --margin --fail-if --format" ;;
    show) options="--help --path --results" ;;
    logs) options="--help --rank --stderr --follow --results" ;;
    export) options="--help --profile --site --set --results --out --models --extract --to --limit-gb" ;;
    ls) options="--help --format --results" ;;
    clean) options="--help --site --set --results --remove --yes" ;;
    db) options="--help --results" commands="rebuild unlock" ;;
    launch) options="--help --batch" ;;
    rank) options="--help --per-node --monitor" ;;
    help) options="--help" ;;
    completion) options="--help" ;;
  esac
  [ -z "$options" ] || options="$options --verbose --quiet --log-level"
  if [[ "$typed" == --*=* ]]; then
    option="${typed%%=*}" typed="${typed#*=}"
    [[ "$COMP_WORDBREAKS" == *=* ]] || kept="$option="
  else
    read -r -a before <<< "${line%"$typed"}"
    option="${before[${#before[@]} - 1]}"
  fi
  case "${COMP_WORDS[1]} $option" in
    "init --trainer") values="mnist_rnn bert_squad" ;;
    "plan --format") values="text json" ;;
    "status --format") values="text json" ;;
    "retry --outcome") values="failed timeout out_of_memory cancelled node_failure preempted lost" list=1 ;;
    "ingest --outcome") values="succeeded failed timeout out_of_memory cancelled node_failure preempted lost" ;;
    "report --format") values="text markdown latex html csv json" ;;
    "report --time-unit") values="s min h h:mm:ss" ;;
    "report --speedup-style") values="plain x" ;;
    "plot --time-unit") values="s min h h:mm:ss" ;;
    "plot --kind") values="speedup efficiency time loss phases timeline imbalance all" ;;
    "compare --format") values="text markdown json" ;;
    "ls --format") values="text json" ;;
    "clean --remove") values="void orphans prepare all" ;;
    *" --log-level") values="debug info warning error off" ;;
  esac
  if [ -n "$values" ]; then
    compopt +o filenames 2> /dev/null
    [ -z "$list" ] || kept="$kept${typed%"${typed##*,}"}" typed="${typed##*,}"
    [[ "$COMP_WORDBREAKS" == *:* ]] && cut="${typed%"${typed##*:}"}"
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$typed")
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
    COMPREPLY=("${COMPREPLY[@]/#/$kept}")
  elif [[ "$typed" == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -n "$commands" && "$COMP_CWORD" -eq 2 ]]; then mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
  else mapfile -t COMPREPLY < <(compgen -f -- "$word"); fi
}
complete -o filenames -F _hpcbench hpcbench
