"""Profiles as text: numbers as people read them, and the table of a view."""

from millrace._profiling.options import BYTES, COUNTS, TIMES

_LEGENDS = {
    "params": "# parameters",
    "float_ops": "# float_ops",
    "bytes": "requested bytes",
    "peak_bytes": "peak bytes",
    "residual_bytes": "residual bytes",
    "output_bytes": "output bytes",
    "micros": "total execution time | accelerator execution time | cpu execution time",
    "accelerator_micros": "accelerator execution time",
    "cpu_micros": "cpu execution time",
    "device": "assigned devices",
    "op_types": "op types",
    "occurrence": "op count (run|defined)",
    "input_shapes": "input shapes",
}


def columns(select):
    """What is selected, in the order of columns; times are told once."""
    hidden = ("accelerator_micros", "cpu_micros") if "micros" in select else ()
    return [name for name in _LEGENDS if name in select and name not in hidden]


def legend(select):
    """The first line of a table."""
    return "node name | " + " | ".join(_LEGENDS[name] for name in columns(select)) + "\n"


def number(n):
    """1234 as "1.23k", as TensorFlow's profiler writes it."""
    for least, unit in ((1_000_000_000, "b"), (1_000_000, "m"), (1000, "k")):
        if n >= least:
            return f"{n / least:.2f}{unit}"
    return str(n)


def memory(n):
    if n < 1000:
        return f"{n}B"
    return f"{n / 1000:.2f}KB" if n < 1_000_000 else f"{n / 1_000_000:.2f}MB"


def duration(micros):
    if micros < 1000:
        return f"{micros}us"
    return f"{micros / 1000:.2f}ms" if micros < 1_000_000 else f"{micros / 1_000_000:.2f}sec"


def _figures_of(column):
    """(the figures that a column shows, how one is written)."""
    if column in BYTES:
        return [BYTES[column]], memory
    if column == "micros":
        return list(TIMES.values()), duration
    if column in TIMES:
        return [TIMES[column]], duration
    return [COUNTS[column]], number


def _shape_text(sizes):
    """Sizes as 3x4; a scalar is 1."""
    return "x".join(map(str, sizes)) if sizes else "1"


def _input_shapes(node):
    return "|".join(f"{i}:{_shape_text(sizes)}" for i, sizes in sorted(node.input_shapes.items()))


def tree_line(item, select):
    """An Item of a tree without its indentation: its own figures over those with what is below it."""
    told = []

    def over(own, total):
        return f"{own if item.is_accounted else '--'}/{total}"

    for column in columns(select):
        if column == "device":
            told += ["|".join(item.node.devices)] if item.node.devices else []
        elif column == "op_types":
            told.append("|".join(sorted(item.node.types)))
        elif column == "occurrence":
            runs = over(number(item.own["run_count"]), number(item.total["run_count"]))
            told.append(f"{runs}|{over('1', number(item.total['definition_count']))}")
        elif column == "input_shapes":
            told.append(_input_shapes(item.node))
        else:
            if column == "params" and item.node.shape is not None:
                told.append(_shape_text(item.node.shape))
            unit = {"params": " params", "float_ops": " flops"}.get(column, "")
            figures, written = _figures_of(column)
            told += [
                over(written(item.own[each]), written(item.total[each])) + unit for each in figures
            ]
    return f"{item.node.name} ({', '.join(told)})\n"


def _share(part, whole):
    return 100 * part / whole if whole else 0.0


def group_line(group, whole, select):
    """A Group of nodes: its figures, and the shares in `whole`, with what comes after it and alone."""
    told = []
    for column in columns(select):
        if column == "device":
            told.append("|".join(sorted({each for node in group.nodes for each in node.devices})))
        elif column == "op_types":
            told.append("|".join(sorted({each for node in group.nodes for each in node.types})))
        elif column == "occurrence":
            runs = sum(node.figures(group.step)["run_count"] for node in group.nodes)
            told.append(f"{f'{runs}|{len(group.nodes)}':>10}")
        elif column == "input_shapes":
            told.append(" ".join(filter(None, map(_input_shapes, group.nodes))))
        else:
            unit = {"params": " params", "float_ops": " float_ops"}.get(column, "")
            figures, written = _figures_of(column)
            for each in figures:
                with_rest = _share(group.total[each], whole[each])
                alone = _share(group.own[each], whole[each])
                text = f"{written(group.own[each])}{unit} ({with_rest:.2f}%, {alone:.2f}%)"
                told.append(f"{text:>30}")
    return f"{group.name:<25}{', '.join(told)}\n"
