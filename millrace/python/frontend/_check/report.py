"""What is told of a program or graph: each thing that is missing, where, and what to use instead."""

from millrace._check import graph_file, lookup, program
from millrace._names import tensorflow1
from millrace._names.missing import Verdict


class Report:
    """What was found.

    Attributes:
      lines: what to print.
      is_complete: True if nothing is missing that the program needs.
    """

    def __init__(self, lines, is_complete):
        self.lines, self.is_complete = lines, is_complete


def of_program(path, shown):
    """The Report on a program; `shown` makes of a Path what is printed."""
    missing, misfits, present = {}, [], set()
    for use in program.uses(path):
        gap = lookup.first_missing(use.path)
        if gap is not None:
            missing.setdefault((use.file, _whole_name(gap, use.path)), []).append(use)
            continue
        present.add(use.path)
        why = lookup.misfit(lookup.found(use.path), use.call) if use.call else None
        if why is not None:
            misfits.append((use.file, use.line, f"{_shown(use.path)} is here, but not so: {why}"))
    told = [
        (file, uses[0].line, _name_line(gap, uses)) for (file, gap), uses in missing.items()
    ] + misfits
    files = list(dict.fromkeys(file for file, _, _ in told))
    told.sort(key=lambda line: (files.index(line[0]), line[1]))
    lines = [f"{shown(file)}:{line}: {text}" for file, line, text in told]
    needed = {gap for (_, gap), uses in missing.items() if not all(use.is_guarded for use in uses)}
    total = len(present) + len({gap for _, gap in missing})
    lines.append(f"{shown(path)}: {_summary(len({gap for _, gap in missing}), total, 'names')}")
    if misfits:
        lines[
            -1
        ] += f", {len(misfits)} {'calls' if len(misfits) > 1 else 'call'} with other arguments"
    return Report(lines, not needed and not misfits)


def _whole_name(gap, path):
    """Of a path of which a module is missing, the part that names what is wanted from it."""
    rest = path.removeprefix(gap).split(".")[1:]
    while rest and tensorflow1.names(gap) is not None:
        gap = f"{gap}.{rest.pop(0)}"
    return gap


def _name_line(gap, uses):
    text = f"{_shown(gap)}: {_verdict(gap)}"
    others = sorted({use.line for use in uses} - {uses[0].line})
    if others:
        text += f" (also in line{'s' if len(others) > 1 else ''} {', '.join(map(str, others[:8]))}"
        text += " ...)" if len(others) > 8 else ")"
    if all(use.is_guarded for use in uses):
        text += " (in a try: the program goes on without it)"
    return text


def _shown(path):
    return f"tensorflow.{path}" if "python." in path else f"tf.{path}"


def _verdict(path):
    verdict = Verdict(path)
    if verdict.kind == "old":
        return f"from before TensorFlow 1.0, which has {verdict.instead} in its place"
    if verdict.kind == "unknown":
        holder = path.rpartition(".")[0]
        if (
            holder
            and lookup.first_missing(holder) is None
            and isinstance(lookup.found(holder), type)
        ):
            return f"the class tf.{holder} has no such member here"
        return "not TensorFlow 1.15's, and not here" + (
            f"; did you mean {verdict.instead}?" if verdict.instead else ""
        )
    told = "inside TensorFlow, and not here" if verdict.kind == "inside" else "not here yet"
    return told + (f"; instead: {verdict.instead}" if verdict.instead else "")


def _summary(missing, total, what):
    if not total:
        return f"uses no {what} of TensorFlow"
    if not missing:
        return f"all {total} {what} are here"
    return f"{missing} of {total} {what} {'are' if missing > 1 else 'is'} missing"


def of_graph(path, data, shown):
    """The Report on the bytes of a GraphDef's file."""
    missing, total = graph_file.missing_ops(data)
    lines = []
    for op, nodes in sorted(missing.items()):
        used = ", ".join(f"'{name}'" for name in nodes[:3])
        more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
        whose = (
            "not here yet" if tensorflow1.has_op(op) else "no op of TensorFlow 1.15, and not here"
        )
        lines.append(f"{shown(path)}: op {op}: {whose}; used by {used}{more}")
    lines.append(f"{shown(path)}: {_summary(len(missing), total, 'ops')}")
    return Report(lines, not missing)
