"""Command-line flags in the manner of TensorFlow 1: defined anywhere, read from FLAGS."""

import argparse
import functools

ArgumentParser = argparse.ArgumentParser


class _Flags:
    """The flags of the program as attributes; the command line is read when the first one is."""

    def __init__(self):
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None

    def _parse(self, argv=None):
        """Reads the command line; returns what no flag took."""
        self.__dict__["_values"], rest = self._parser.parse_known_args(argv)
        return rest

    def _parse_flags(self, args=None):
        """Reads the command line now, as programs from before TensorFlow 1.5 ask; returns what no flag took."""
        return self._parse(args)

    def __getattr__(self, name):
        if name == "__flags":  # {name: Flag} of all, by the name that programs look it up by
            return {name: self[name] for name in self.flag_values_dict()}
        if name.startswith("__"):
            raise AttributeError(name)
        if self._values is None:
            self._parse()
        if not hasattr(self._values, name):
            raise AttributeError(
                f"there is no flag '{name}'; there are {sorted(vars(self._values))}"
            )
        value = getattr(self._values, name)
        return (None if value.is_none else list(value)) if isinstance(value, _Defaults) else value

    def __setattr__(self, name, value):
        if self._values is None:
            self._parse()
        setattr(self._values, name, value)

    def __call__(self, argv):
        return [argv[0], *self._parse(argv[1:])]

    def flag_values_dict(self):
        """{name: value} of all flags."""
        if self._values is None:
            self._parse()
        return {name: getattr(self, name) for name in vars(self._values)}

    def mark_as_parsed(self):
        """Has flags read though nobody read the command line: they have their defaults."""
        if self._values is None:
            self._parse([])

    def is_parsed(self):
        return self._values is not None

    def __iter__(self):
        return iter(self.flag_values_dict())

    def __contains__(self, name):
        return any(action.dest == name for action in self._parser._actions)

    def __getitem__(self, name):
        return _Flag(name, getattr(self, name))

    def _define(self, name, default, doc, read):
        self._parser.add_argument(f"--{name}", default=default, help=doc, type=read)
        self.__dict__["_values"] = None


class _Flag:
    """A flag as FLAGS["name"] gives it: name and value."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __repr__(self):
        return f"Flag({self.name}={self.value!r})"


FLAGS = _Flags()

# The names that newer programs give the arguments.
_NEWER = {
    "name": "flag_name",
    "default": "default_value",
    "help": "docstring",
    "required": None,
    "short_name": None,
}


def _either_names(define):
    """A function that defines a flag, by the names of its arguments or by newer ones."""

    @functools.wraps(define)
    def either(*args, **kwargs):
        required = kwargs.pop("required", False)
        kwargs.pop("short_name", None)
        made = {_NEWER.get(name, name): value for name, value in kwargs.items()}
        define(*args, **made)
        if required:
            mark_flag_as_required(args[0] if args else made["flag_name"])

    return either


@_either_names
def DEFINE_string(flag_name, default_value, docstring=""):
    """Defines --flag_name for a text."""
    FLAGS._define(flag_name, default_value, docstring, str)


@_either_names
def DEFINE_integer(flag_name, default_value, docstring="", lower_bound=None, upper_bound=None):
    """Defines --flag_name for an integer."""

    def read(text):
        value = int(text)
        if lower_bound is not None and value < lower_bound:
            raise argparse.ArgumentTypeError(f"{value} is less than {lower_bound}")
        if upper_bound is not None and value > upper_bound:
            raise argparse.ArgumentTypeError(f"{value} is more than {upper_bound}")
        return value

    FLAGS._define(flag_name, default_value, docstring, read)


@_either_names
def DEFINE_float(flag_name, default_value, docstring="", lower_bound=None, upper_bound=None):
    """Defines --flag_name for a number."""

    def read(text):
        value = float(text)
        if lower_bound is not None and value < lower_bound:
            raise argparse.ArgumentTypeError(f"{value} is less than {lower_bound}")
        if upper_bound is not None and value > upper_bound:
            raise argparse.ArgumentTypeError(f"{value} is more than {upper_bound}")
        return value

    FLAGS._define(flag_name, default_value, docstring, read)


@_either_names
def DEFINE_enum(flag_name, default_value, enum_values, docstring=""):
    """Defines --flag_name for one of several texts."""
    FLAGS._parser.add_argument(
        f"--{flag_name}", default=default_value, help=docstring, choices=list(enum_values)
    )
    FLAGS.__dict__["_values"] = None


def _define_many(flag_name, default_value, docstring, read):
    """A flag that may be given several times: a list; one value alone counts as a list of it."""
    if default_value is not None and not isinstance(default_value, (list, tuple)):
        default_value = [default_value]
    FLAGS._parser.add_argument(
        f"--{flag_name}", default=_Defaults(default_value), help=docstring, type=read, action=_More
    )
    FLAGS.__dict__["_values"] = None


class _Defaults(list):
    """A default that the first value on the command line takes the place of."""

    def __init__(self, values):
        super().__init__(values or [])
        self.is_none = values is None


class _More(argparse.Action):
    """Adds to what the command line gave before."""

    def __call__(self, parser, namespace, value, option_string=None):
        held = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [value] if isinstance(held, _Defaults) else [*held, value])


@_either_names
def DEFINE_multi_string(flag_name, default_value, docstring=""):
    """Defines --flag_name for texts, one each time that it is given."""
    _define_many(flag_name, default_value, docstring, str)


@_either_names
def DEFINE_multi_integer(flag_name, default_value, docstring=""):
    """Defines --flag_name for integers, one each time that it is given."""
    _define_many(flag_name, default_value, docstring, int)


@_either_names
def DEFINE_multi_float(flag_name, default_value, docstring=""):
    """Defines --flag_name for numbers, one each time that it is given."""
    _define_many(flag_name, default_value, docstring, float)


@_either_names
def DEFINE_list(flag_name, default_value, docstring=""):
    """Defines --flag_name for texts with commas between them."""
    FLAGS._define(flag_name, default_value, docstring, lambda text: text.split(",") if text else [])


@_either_names
def DEFINE_boolean(flag_name, default_value, docstring=""):
    """Defines --flag_name, --flag_name=false and --noflag_name."""

    def read(text):
        known = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
        if text.lower() not in known:
            raise argparse.ArgumentTypeError(f"{text} is neither true nor false")
        return known[text.lower()]

    parser = FLAGS._parser
    parser.add_argument(
        f"--{flag_name}", default=default_value, help=docstring, type=read, nargs="?", const=True
    )
    parser.add_argument(f"--no{flag_name}", dest=flag_name, action="store_false")
    FLAGS.__dict__["_values"] = None


DEFINE_bool = DEFINE_boolean


def mark_flag_as_required(flag_name):
    """Ends the program with a message unless the flag is given."""
    for action in FLAGS._parser._actions:
        if action.dest == flag_name:
            action.required = True


def mark_flags_as_required(flag_names):
    """Ends the program with a message unless all of the flags are given."""
    for flag_name in flag_names:
        mark_flag_as_required(flag_name)
