"""tf.data.Options: what a program asks of how datasets are run."""

import copy

__all__ = ["OptimizationOptions", "Options", "ThreadingOptions"]


class _Group:
    """Options that TensorFlow keeps together, such as those of threading. Any attribute may be set."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None


class OptimizationOptions(_Group):
    """Options.experimental_optimization: kept, and without effect."""


class ThreadingOptions(_Group):
    """Options.experimental_threading: kept, and without effect."""


class Options(_Group):
    """Options of a dataset. They are kept, merged and handed out; elements and their order are the same.

    Attributes:
      experimental_deterministic, experimental_optimization, experimental_threading,
      experimental_distribute, experimental_slack, experimental_stats, deterministic, autotune,
      threading: as TensorFlow names them; None where nothing was set.
    """

    _GROUPS = (
        "experimental_optimization",
        "experimental_threading",
        "experimental_distribute",
        "experimental_stats",
        "threading",
        "autotune",
    )

    def __init__(self):
        super().__init__(**{name: _Group() for name in self._GROUPS})
        self.experimental_optimization = OptimizationOptions()
        self.experimental_threading = ThreadingOptions()

    def merge(self, options):
        """These options with those of another object over them. TypeError if that is no Options."""
        if not isinstance(options, Options):
            raise TypeError(f"`options` must be an instance of tf.data.Options, got {options!r}")
        made = copy.deepcopy(self)
        for name, value in options.__dict__.items():
            if isinstance(value, _Group):
                made.__dict__[name].__dict__.update(value.__dict__)
            else:
                made.__dict__[name] = value
        return made
