"""Lines of text in columns, and sizes as people read them."""

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def size(count):
    """A number of bytes: "17 bytes", "1.5 MB"."""
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{count} bytes" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def counted(count, what):
    """ "1 tensor", "3 tensors"."""
    return f"{count} {what if count == 1 else what + 's'}"


def columns(rows, indent=""):
    """The rows as lines, each cell as wide as the widest of its column; the last is as it is."""
    rows = [[str(cell) for cell in row] for row in rows]
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    return [
        indent + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[-1]])
        for row in rows
    ]
