"""HParams: the settings of a model, which a line of text can change."""

import json
import re

_ITEM = re.compile(r"\s*(\w+)(?:\[(\d+)\])?\s*=\s*(?:\[([^\]]*)\]|([^,\[]*))\s*(?:,|$)")


def _typed(name, kind, text):
    """A value of the type of the setting, from text."""
    text = text.strip()
    if kind is bool:
        known = {"true": True, "1": True, "false": False, "0": False}
        if text.lower() in known:
            return known[text.lower()]
        raise ValueError(f"Could not parse hparam {name}: {text!r} is no bool")
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"Could not parse hparam {name}: {text!r} is no {kind.__name__}") from None


class HParams:
    """Settings as attributes, each with the type of its first value.

    Args:
      **kwargs: numbers, bools, strings, or lists of one of these, by name.
    """

    def __init__(self, **kwargs):
        self._types = {}  # name -> (type of a value, whether it is a list)
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        """Adds a setting. ValueError if there is one of this name, or an attribute, or an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._types[name] = (type(value[0]), True)
            value = list(value)
        else:
            self._types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name, value):
        """Sets a setting.

        Raises:
          KeyError: if there is none; ValueError: if the value is of another type, or a list for one
            that is none.
        """
        kind, is_list = self._types[name]
        if isinstance(value, (list, tuple)) != is_list:
            raise ValueError(
                f"hparam {name} is {'a list' if is_list else 'no list'}, got {value!r}"
            )
        setattr(
            self,
            name,
            [_cast(name, kind, v) for v in value] if is_list else _cast(name, kind, value),
        )

    def del_hparam(self, name):
        """Takes a setting away, if there is one."""
        if name in self._types:
            delattr(self, name)
            del self._types[name]

    def parse(self, values):
        """Sets settings from text like "rate=0.1,sizes=[3,4],sizes[0]=5"; gives this object.

        Raises:
          ValueError: if the text is not of this form, or names a setting that there is not.
        """
        place = 0
        while place < len(values):
            match = _ITEM.match(values, place)
            if match is None:
                raise ValueError(f"Malformed hyperparameter value: {values[place:]}")
            place = match.end()
            name, index, items, text = match.groups()
            if name not in self._types:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            kind, is_list = self._types[name]
            if index is not None:
                held = list(getattr(self, name))
                if not is_list or int(index) >= len(held):
                    raise ValueError(f"hparam {name} has no element {index}")
                held[int(index)] = _typed(name, kind, text)
                setattr(self, name, held)
            elif items is not None:
                self.set_hparam(name, [_typed(name, kind, item) for item in items.split(",")])
            else:
                self.set_hparam(name, _typed(name, kind, text))
        return self

    def override_from_dict(self, values_dict):
        """set_hparam of all items; gives this object."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def values(self):
        """A dictionary of all settings."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key, default=None):
        """A setting, or `default` if there is none."""
        return getattr(self, key) if key in self._types else default

    def to_json(self, **options):
        """All settings as JSON; the options are those of json.dumps."""
        return json.dumps(self.values(), **options)

    def __contains__(self, key):
        return key in self._types

    def __repr__(self):
        return f"HParams({', '.join(f'{k}={v!r}' for k, v in sorted(self.values().items()))})"


def _cast(name, kind, value):
    """A value as the type of a setting. ValueError if it is another kind of thing."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is type(None) or type(value) is kind:
        return value
    if kind is float and is_whole:
        return float(value)
    raise ValueError(f"Could not cast hparam {name} of type {kind.__name__} from value {value!r}")
