"""Do two runs of the table agree? For each row the interval of the ratio of its two ratios, and Holm's procedure over the rows."""
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
    work: str
    peer: str
    ratio: float
    low: float | None
    high: float | None
    p: float
    adjusted: float = 1.0
    sizes: tuple = (0, 0)
    resolved: bool = True
    can_differ: bool = True  # False: so few repeats could not have differed, whatever they were

    @property
    def agrees(self):
        return self.adjusted > LEVEL


def holm(p_values):
    """Adjusted p-values (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, highest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def compare(first_rows, second_rows):
    second_by_key = {row.key: row for row in second_rows}
    found = []
    for row in first_rows:
        other = second_by_key.get(row.key)
        if other is None or not row.values or not other.values or min(row.values + other.values) <= 0:
            continue
        ratio, low, high, _ = shift(row.values, other.values)
        found.append(Agreement(row.work, row.peer, ratio, low, high, p_value(row.values, other.values), sizes=(len(row.values), len(other.values)),
                               resolved=row.resolved and other.resolved))
    for agreement, adjusted in zip(found, holm([agreement.p for agreement in found])):
        agreement.adjusted = adjusted
        m, n = agreement.sizes
        agreement.can_differ = 2 / math.comb(m + n, m) * len(found) <= LEVEL
    return found


def as_text(agreements):
    lines = [("work", "against", "second/first", "interval", "p, Holm", "verdict")]
    for each in agreements:
        interval = "-" if each.low is None else f"[{each.low:.3f}, {each.high:.3f}]"
        verdict = ("agrees" if each.agrees else "DIFFERS") + ("" if each.resolved else ", unresolved") + ("" if each.can_differ else ", too few repeats to differ")
        lines.append((each.work, each.peer or "-", f"{each.ratio:.3f}", interval, f"{each.adjusted:.3g}", verdict))
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
