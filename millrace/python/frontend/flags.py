"""Command-line flags in the manner of TensorFlow 1: defined anywhere, read from FLAGS."""

import argparse


class _Flags:
    """The flags of the program as attributes; the command line is read when the first one is."""

    def __init__(self):
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None

    def _parse(self, argv=None):
        """Reads the command line; returns what no flag took."""
        self.__dict__["_values"], rest = self._parser.parse_known_args(argv)
        return rest

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self._values is None:
            self._parse()
        return getattr(self._values, name)

    def __setattr__(self, name, value):
        if self._values is None:
            self._parse()
        setattr(self._values, name, value)

    def __call__(self, argv):
        return [argv[0], *self._parse(argv[1:])]

    def _define(self, name, default, doc, read):
        self._parser.add_argument(f"--{name}", default=default, help=doc, type=read)
        self.__dict__["_values"] = None


FLAGS = _Flags()


def DEFINE_string(flag_name, default_value, docstring=""):
    """Defines --flag_name for a text."""
    FLAGS._define(flag_name, default_value, docstring, str)


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


def DEFINE_float(flag_name, default_value, docstring=""):
    """Defines --flag_name for a number."""
    FLAGS._define(flag_name, default_value, docstring, float)


def DEFINE_enum(flag_name, default_value, enum_values, docstring=""):
    """Defines --flag_name for one of several texts."""
    FLAGS._parser.add_argument(
        f"--{flag_name}", default=default_value, help=docstring, choices=list(enum_values)
    )


def DEFINE_list(flag_name, default_value, docstring=""):
    """Defines --flag_name for texts with commas between them."""
    FLAGS._define(flag_name, default_value, docstring, lambda text: text.split(",") if text else [])


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
