"""What is told of the rounds of a measurement."""

import statistics


def number(x):
    return "{:,.0f}".format(x) if x >= 100 else "%.2f" % x


def spread(values):
    m = statistics.median(values)
    if len(values) == 1:
        return number(m)
    return "%s (%s..%s)" % (number(m), number(min(values)), number(max(values)))


def middle(results, what):
    return statistics.median(g.get(what, 0) for g in results)


def rates(results):
    return [g["jobs_per_s"] for g in results]


def ratio(over, under):
    """The median of the rounds' ratios: what was slow for a round was slow for
    both."""
    return statistics.median(a / b for a, b in zip(over, under))


def times(latency):
    return "%.2f / %.2f / %.2f" % tuple(latency[k] / 1e3 for k in ("p50", "p99", "max"))
