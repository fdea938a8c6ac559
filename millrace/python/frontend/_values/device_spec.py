"""Device names: parts of /job:worker/replica:0/task:3/device:CPU:0 as a value."""

import re

_PART = r"(job|replica|task|device):(.+)"
_LEGACY = r"(cpu|gpu|tpu):(\d+|\*)"


class DeviceSpec:
    """What is said about a device; parts that are None place no constraint.

    Attributes:
      job, replica, task, device_type, device_index.
    """

    __slots__ = ("job", "replica", "task", "device_type", "device_index")

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job = job
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = device_type
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec):
        """From "/job:ps/task:1", "/device:GPU:0", "/cpu:0" and so on.

        Raises:
          ValueError: naming the piece that makes no sense.
        """
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec):
        """Takes over what `spec` says, and returns itself."""
        for piece in spec.strip().split("/"):
            if piece:
                self._take(piece, spec)
        return self

    def _take(self, piece, spec):
        legacy = re.fullmatch(_LEGACY, piece, re.IGNORECASE)
        part = re.fullmatch(_PART, piece, re.IGNORECASE)
        if legacy:
            self.device_type = legacy[1].upper()
            self.device_index = _index(legacy[2], spec)
        elif not part:
            raise ValueError(
                f"Unknown attribute: '{piece}' in '{spec}'; a device is written like "
                "/job:worker/task:0/device:CPU:0"
            )
        elif part[1].lower() == "job":
            self.job = None if part[2] == "*" else part[2]
        elif part[1].lower() == "device":
            kind, _, index = part[2].partition(":")
            self.device_type = None if kind == "*" else kind
            self.device_index = _index(index, spec) if index else None
        else:
            setattr(self, part[1].lower(), _index(part[2], spec))

    def merge_from(self, other):
        """Takes over what `other` says."""
        for part in self.__slots__:
            value = getattr(other, part)
            if value is not None:
                setattr(self, part, value)

    def make_merged_spec(self, other):
        """A new spec: this one, overridden by what `other` says."""
        made = DeviceSpec(*(getattr(self, part) for part in self.__slots__))
        made.merge_from(other)
        return made

    def replace(self, **parts):
        """A new spec: this one with some parts given anew. TypeError for what is no part."""
        made = DeviceSpec(*(getattr(self, part) for part in self.__slots__))
        for part, value in parts.items():
            if part not in self.__slots__:
                raise TypeError(f"'{part}' is no part of a device: {', '.join(self.__slots__)} are")
            setattr(made, part, value)
        return made

    def to_string(self):
        text = ""
        if self.job is not None:
            text += f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __str__(self):
        return self.to_string()

    def __repr__(self):
        return f"DeviceSpec({self.to_string()!r})"


def _index(text, spec):
    if text == "*":
        return None
    if not text.isdecimal():
        raise ValueError(f"'{text}' in '{spec}' must be a number")
    return int(text)


def merged_device(outer, inner):
    """What nested scopes say together: `inner` wins field by field."""
    return outer.make_merged_spec(inner) if inner is not None else outer


def canonical_name(device):
    """The canonical form of a device string; "" for None."""
    return DeviceSpec.from_string(str(device or "")).to_string()
