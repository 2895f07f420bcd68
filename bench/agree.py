"""Do two runs of the table agree? For each row the interval of the ratio of its two ratios, and Holm's procedure over the rows. A row that is no ratio (a time or
a memory of ours alone) is shown beside them and not held: the machine is not as fast at every hour. A row that only one table has is told, and rows that are
wider than 10 % in one of them are marked."""
import math
import statistics
from dataclasses import dataclass
from functools import lru_cache

LEVEL = 0.05


@lru_cache(maxsize=None)
def rank_sum_counts(m, n):
    """How many of the C(m+n, m) orders of m and n values give each Mann-Whitney U, 0 to m n (Hollander, Wolfe and Chicken, ch. 4)."""
    if m == 0 or n == 0:
        return (1,)
    # The largest value is one of the m (then it exceeds all n) or one of the n.
    first, second = rank_sum_counts(m - 1, n), rank_sum_counts(m, n - 1)
    counts = [0] * (m * n + 1)
    for u, count in enumerate(first):
        counts[u + n] += count
    for u, count in enumerate(second):
        counts[u] += count
    return tuple(counts)


def tail(m, n, u):
    """P(U <= u)"""
    return 0.0 if u < 0 else sum(rank_sum_counts(m, n)[:math.floor(u) + 1]) / math.comb(m + n, m)


def p_value(first, second):
    """Two-sided, exact; ties count half, which is conservative when rounded towards the middle."""
    m, n = len(first), len(second)
    u = sum((a > b) + 0.5 * (a == b) for a in first for b in second)
    smaller = min(u, m * n - u)
    return min(1.0, 2 * tail(m, n, math.ceil(smaller)))


def shift(first, second, level=LEVEL):
    """(value, low, high, coverage) of exp of the Hodges-Lehmann shift of log second over log first; low and high absent where too few."""
    differences = sorted(math.log(b) - math.log(a) for a in first for b in second)
    m, n = len(first), len(second)
    k = 0
    while 2 * tail(m, n, k) <= level:
        k += 1
    value = math.exp(statistics.median(differences))
    if k == 0:
        return value, None, None, None
    return value, math.exp(differences[k - 1]), math.exp(differences[-k]), 1 - 2 * tail(m, n, k - 1)


@dataclass
class Agreement:
    """Of one row in both tables. `low`, `high`: the interval at the level that Holm's procedure holds this row against, so that it holds 1 exactly if the row
    agrees; absent where so few repeats have none at that level, values are not positive, or the row is not held. `low_alone`, `high_alone`: at 95 %, for this
    row alone."""
    work: str
    peer: str
    ratio: float | None
    p: float | None  # absent: no ratio, shown but not tested
    sizes: tuple
    resolved: bool
    notes: tuple = ()
    adjusted: float = 1.0
    low: float | None = None
    high: float | None = None
    low_alone: float | None = None
    high_alone: float | None = None
    can_differ: bool = True  # False: with so few repeats no difference could have been found

    @property
    def held(self):
        return self.p is not None

    @property
    def agrees(self):
        return self.adjusted > LEVEL

    @property
    def holds_one_alone(self):
        return self.low_alone is None or self.low_alone <= 1 <= self.high_alone


def holm(p_values):
    """Adjusted p-values (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, highest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def holm_levels(p_values):
    """Returns the level for each p-value: for rejected ones the level of their step, for others that of the first p-value that was not rejected."""
    adjusted, count = holm(p_values), len(p_values)
    rejected = sorted((place for place in range(count) if adjusted[place] <= LEVEL), key=lambda place: p_values[place])
    levels = [LEVEL / max(1, count - len(rejected))] * count
    for rank, place in enumerate(rejected):
        levels[place] = LEVEL / (count - rank)
    return levels


def identity(row):
    """Rows of the same key are of other work where one is of --quick."""
    return row.key, row.work


def pairs(first_rows, second_rows):
    second = {identity(row): row for row in second_rows if row.values}
    return [(row, second[identity(row)]) for row in first_rows if row.values and identity(row) in second]


def alone(first_rows, second_rows):
    """(rows of the first table, rows of the second) that the other one lacks."""
    both = {identity(row) for row, _ in pairs(first_rows, second_rows)}
    return tuple([row for row in rows if identity(row) not in both] for rows in (first_rows, second_rows))


def missing(first_rows, second_rows):
    """Rows that only one table has, of suites that both have: measurements that failed in one of them."""
    suites = {row.suite for row in first_rows} & {row.suite for row in second_rows}
    return [row for rows in alone(first_rows, second_rows) for row in rows if row.suite in suites]


def notes_on(row, other):
    notes = [] if row.resolved and other.resolved else ["unresolved"]
    notes += [f"then against {other.peer}"] if row.peer != other.peer else []
    return tuple(notes + ([f"verdict {row.verdict}, then {other.verdict}"] if row.verdict != other.verdict else []))


def compare(first_rows, second_rows):
    """The Agreements of the rows that both tables have: first of the ratios, then of what is only shown."""
    both = pairs(first_rows, second_rows)
    ratios = [pair for pair in both if pair[0].is_ratio]
    p_values = [p_value(row.values, other.values) for row, other in ratios]
    found = [agreement(row, other, p, level) for (row, other), p, level in zip(ratios, p_values, holm_levels(p_values))]
    for each, adjusted in zip(found, holm(p_values)):
        each.adjusted = adjusted
        each.can_differ = 2 / math.comb(sum(each.sizes), each.sizes[0]) * len(ratios) <= LEVEL
    return found + [agreement(row, other) for row, other in both if not row.is_ratio]


def agreement(row, other, p=None, level=None):
    """`level`: what Holm's procedure holds `p` against; without both, the row is not held."""
    each = Agreement(row.work, row.peer, None, p, (len(row.values), len(other.values)), row.resolved and other.resolved, notes_on(row, other))
    if min(row.values + other.values) > 0:  # otherwise there is no ratio; ranks are still compared
        each.ratio, each.low_alone, each.high_alone, _ = shift(row.values, other.values)
        if each.held:
            _, each.low, each.high, _ = shift(row.values, other.values, level)
    return each


def interval_text(low, high):
    return "-" if low is None else f"[{low:.3f}, {high:.3f}]"


def count_of(number, words):
    return f"{number} {words if number != 1 else words.replace('rows', 'row')}"


def summary(agreements, only):
    held = [each for each in agreements if each.held]
    few = sum(not each.can_differ for each in held)
    return (f"{count_of(len(held), 'rows')} in both tables: {sum(each.agrees for each in held)} agree, {sum(not each.agrees for each in held)} differ "
            f"(Holm at {LEVEL:.0%} over all); {sum(not each.resolved for each in held)} unresolved: wider than 10 % in one of the tables; "
            f"{few} with too few repeats to differ among so many; alone, {sum(not each.holds_one_alone for each in held)} intervals at 95 % do not hold 1; "
            f"{count_of(sum(map(len, only)), 'rows')} in one table alone; {count_of(len(agreements) - len(held), 'rows')} without a ratio shown, not held")


def verdict_on(each):
    if not each.held:
        return "no ratio: shown"
    return "agrees" if each.agrees else "DIFFERS"


def as_text(agreements, only=((), ())):
    """`only`: as alone() gives it."""
    lines = [("work", "against", "n", "second/first", "interval, 95 %", "interval, Holm", "p, Holm", "verdict")]
    for each in agreements:
        verdict = ", ".join([verdict_on(each), *each.notes, *([] if each.can_differ else ["too few repeats to differ"])])
        lines.append((each.work, each.peer or "-", f"{each.sizes[0]}, {each.sizes[1]}", "-" if each.ratio is None else f"{each.ratio:.3f}",
                      interval_text(each.low_alone, each.high_alone), interval_text(each.low, each.high), f"{each.adjusted:.3g}" if each.held else "-", verdict))
    for rows, words in zip(only, ("ONLY IN THE FIRST", "ONLY IN THE SECOND")):
        lines += [(row.work, row.peer or "-", str(len(row.values)), "-", "-", "-", "-", words) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines) + "\n\n" + summary(agreements, only)
