"""How long a table takes: repeats times what one of each costs, on two quiet cores; both as they were on the machine of docs/performance.md."""
import rested_disk
import suites_trainers
from bert_work import OURS, PEERS
from study import Wanted

# suite: seconds before it begins, ((seconds of one repeat, usual number of repeats), ...); below the same with --quick
OF_SUITE = {"runner": (60, ((17, 14),)), "local": (0, ((6, 14), (25, 8), (195, 6))), "reports": (25, ((3.5, 8),)), "slurm": (15, ((48, 6),)),
            "blocks": (15, ((40, 6), (10, 6))),
            "roofs": (0, ((5, 20),))}
OF_SUITE_QUICK = {"runner": (8, ((4, 3),)), "local": (0, ((4, 3), (5, 3), (9, 3))), "reports": (5, ((2, 3),)), "slurm": (15, ((12, 2),)),
                  "blocks": (15, ((11, 2), (5, 2))), "roofs": (0, ((5, 3),))}
# study of mnist_rnn: seconds of one repeat
MNIST_S = {"ours": 10.5, "ddp1": 5, "fsdp1": 5, "ddp": 6.5}
FEATURES_S, QUICK_FEATURES_S = {1: 17, 2: 12}, 4
TRAINER_REPEATS = 10
QUICK_SHARE = 0.75  # of a training: fewer steps and epochs, but the same start
# of BERT, for each size: seconds of one training: (ours, theirs) on one rank, and on two; of its losses for each tool
BERT_S = {"small": ((1.8, 6.0), (3.5, 11.0), 6.0), "base": ((7.0, 19.0), (50.0, 55.0), 25.0)}


def of_suite(name, options):
    setup_s, parts = (OF_SUITE_QUICK if options.quick else OF_SUITE)[name]
    return setup_s + sum(each_s * (options.repeats if options.repeats and not options.quick else repeats) for each_s, repeats in parts)


def one_training_s(size, tool, quick):
    ranks = (OURS if tool in OURS else PEERS)[tool][0]
    return BERT_S[size][ranks - 1][0 if tool in OURS else 1] * (QUICK_SHARE if quick else 1)


def of_comparison(size, each, options):
    """Returns the time to choose the best peer, and to measure ours beside it."""
    ours_s, peers_s = one_training_s(size, each.ours, options.quick), [one_training_s(size, peer, options.quick) for peer in each.peers]
    choice = suites_trainers.CHOICE_REPEATS[size] if len(each.peers) > 1 else 0
    best = min(len(each.peers), 2 if len(each.measures) > 1 and size == "small" else 1)
    repeats = options.repeats or suites_trainers.MOST_REPEATS[size]
    if options.quick:
        choice, repeats = min(choice, suites_trainers.QUICK_REPEATS), suites_trainers.QUICK_REPEATS
    elif options.repeats and choice:
        choice = options.repeats
    return choice * (ours_s + sum(peers_s)) + repeats * (ours_s + best * max(peers_s))


def of_bert(options):
    place, total_s = Wanted(options.only), 0.0
    for size in options.size or (suites_trainers.SIZES if not options.quick else suites_trainers.SIZES[:1]):
        wanted = suites_trainers.comparisons(place, size)
        tools = {tool for each in wanted for tool in (each.ours, *each.peers)}
        total_s += sum(of_comparison(size, each, options) for each in wanted) + len(tools) * BERT_S[size][2]
    return total_s


def of_trainers(options):
    place = Wanted(options.only)
    repeats = suites_trainers.QUICK_REPEATS if options.quick else options.repeats or TRAINER_REPEATS
    mnist = [MNIST_S[ours] for title, ours, _ in suites_trainers.MNIST if place.wants(title) and (not options.size or options.only)]
    features = [QUICK_FEATURES_S if options.quick else FEATURES_S[threads] for threads in (1, 2) if place.wants(suites_trainers.features_title(threads))]
    return repeats * (sum(mnist) * (QUICK_SHARE if options.quick else 1) + sum(features)) + of_bert(options)


def expected_s(name, options):
    return of_trainers(options) if name == "trainers" else of_suite(name, options)


def with_rest(left_s, options, folder):
    """`left_s` with what the disk has to rest before `local`, beyond the suites that come first."""
    if options.quick or not left_s.get("local"):
        return left_s
    names = list(left_s)
    before_s = sum(left_s[name] for name in names[:names.index("local")])
    return left_s | {"local": left_s["local"] + max(0.0, rested_disk.left_s(folder) - before_s)}


def as_text(names, options, kept):
    """One line: minutes in all and of each suite; of suites that an earlier command ended, or began, what is left."""
    left_s = {name: 0.0 if name in kept.done else max(0.0, expected_s(name, options) - kept.took_s.get(name, 0.0)) for name in names}
    left_s = with_rest(left_s, options, kept.data)
    parts = ", ".join(f"{name} " + ("measured before" if name in kept.done else f"{seconds / 60:.0f}" if seconds >= 90 else f"{seconds / 60:.1f}")
                      for name, seconds in left_s.items())
    began = " of what is left" if kept.took_s else ""
    return (f"about {max(1, round(sum(left_s.values()) / 60))} minutes{began} on two quiet cores: {parts}"
            + ("" if options.save else "; nothing is kept if it is cut off (--save FILE)"))
