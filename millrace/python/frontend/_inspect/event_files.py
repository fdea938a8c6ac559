"""Files of events: which summaries they have, from which steps, and their values."""

import datetime

from millrace._inspect.tables import columns, counted
from millrace._summaries.file_writer import summary_iterator
from millrace._values import errors

_KINDS = (
    ("simple_value", "scalar"),
    ("image", "image"),
    ("histo", "histogram"),
    ("audio", "audio"),
    ("tensor", "tensor"),
)


def _kind_of(value):
    return next((name for field, name in _KINDS if value.HasField(field)), "?")


def _shown(value):
    if value.HasField("simple_value"):
        return f"{value.simple_value:.6g}"
    if value.HasField("histo"):
        histogram = value.histo
        return f"{histogram.num:g} values, {histogram.min:.6g} to {histogram.max:.6g}"
    if value.HasField("image"):
        return f"{value.image.height} x {value.image.width}"
    return ""


class Events:
    """A file of events that is inspected."""

    kind = "event file"

    def __init__(self, path):
        self.path = path

    def _values(self):
        for event in summary_iterator(self.path):
            for value in event.summary.value if event.HasField("summary") else ():
                yield event, value

    def listed(self):
        """A line per tag: its kind, how often it is there, its steps and its last value."""
        tags, others, times, count = {}, {}, [], 0
        problem = None
        try:
            for event in summary_iterator(self.path):
                count += 1
                times = [times[0] if times else event.wall_time, event.wall_time]
                for field in ("file_version", "graph_def", "meta_graph_def", "session_log"):
                    if event.HasField(field):
                        others[field] = others.get(field, 0) + 1
                for value in event.summary.value if event.HasField("summary") else ():
                    known = tags.setdefault(value.tag, [_kind_of(value), 0, event.step, 0, ""])
                    known[1] += 1
                    known[3:] = [event.step, _shown(value)]
        except errors.DataLossError as error:
            problem = error.message
        rows = [
            (tag, kind, f"{count} times", f"steps {first} to {last}", shown)
            for tag, (kind, count, first, last, shown) in sorted(tags.items())
        ]
        yield from columns(rows)
        rest = ", ".join(
            counted(number, field.replace("_", " ")) for field, number in others.items()
        )
        yield f"{counted(count, 'event')}{': ' + rest if rest else ''}"
        if times:
            begin, end = (datetime.datetime.fromtimestamp(at) for at in times)
            yield f"from {begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S}"
        if problem:
            yield f"then the file is damaged: {problem}"

    def printed(self, names):
        """The steps and values of tags. KeyError for one that is not there."""
        for name in names:
            rows = [
                (event.step, _shown(value)) for event, value in self._values() if value.tag == name
            ]
            if not rows:
                raise KeyError(f"'{self.path}' has no tag '{name}'")
            yield name
            yield from columns(rows, "  ")

    def compared(self, other, tolerance):
        """A line per scalar that differs at a step, or is in one file alone."""
        mine, its = ({(v.tag, e.step): v for e, v in each._values()} for each in (self, other))
        for tag, step in sorted({*mine, *its}):
            at = f"{tag} at step {step}"
            if (tag, step) not in its:
                yield f"{at}: only in {self.path}"
            elif (tag, step) not in mine:
                yield f"{at}: only in {other.path}"
            else:
                one, two = mine[tag, step], its[tag, step]
                if one.HasField("simple_value") and two.HasField("simple_value"):
                    if not abs(one.simple_value - two.simple_value) <= tolerance:
                        yield f"{at}: {one.simple_value:.6g} and {two.simple_value:.6g}"
                elif one != two:
                    yield f"{at}: differs"
