"""The last table of run.py: what is measured against what, in one place.

Each bench returns rows; a row has samples of ours and of the peer's, one for
each run, or one number of each where it cannot vary.
"""
import statistics


class Row:
    def __init__(self, name, ours, peer=None, against="", unit="s", aim=""):
        """`ours` and `peer` are lists of samples or numbers; `against` says
        what the peer is, `aim` what the ratio, or ours, is to be."""
        self.name, self.against, self.unit, self.aim = name, against, unit, aim
        self.ours = ours if isinstance(ours, list) else [ours]
        self.peer = peer if peer is None or isinstance(peer, list) else [peer]

    @property
    def ratio(self):
        return statistics.median(self.ours) / statistics.median(self.peer)

    def cells(self):
        ratio = "%.2f" % self.ratio if self.peer else ""
        return (self.name, described(self.ours, self.unit),
                described(self.peer, self.unit) if self.peer else "",
                self.against, ratio, self.aim)


def number(value, unit):
    if unit == "ms":
        value *= 1e3
    return "%.0f" % value if abs(value) >= 100 else "%.3g" % value


def described(samples, unit):
    """Median, and the spread where there is one."""
    text = "%s %s" % (number(statistics.median(samples), unit), unit)
    low, high = min(samples), max(samples)
    if low != high:
        text += " (%s-%s)" % (number(low, unit), number(high, unit))
    return text


def table(rows, load):
    heads = ("", "ours", "peer", "the peer", "ratio", "aim")
    lines = [heads] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    text = "\nAll of it: medians, and from the least to the most; %s\n" % load
    for line in lines:
        text += "  " + "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        text += "\n"
    return text
