"""tf.config.optimizer: what rewrites a graph before it runs in a session of this process."""

from millrace._run.process_options import options as _options


def get_jit():
    """What set_jit was given; False at first."""
    return _options.jit


def set_jit(enabled):
    """Kept, as the field of a ConfigProto is: nothing is compiled here."""
    _options.jit = bool(enabled)


def get_experimental_options():
    """{name: value} of what set_experimental_options was given."""
    return dict(_options.rewrites)


def set_experimental_options(options):
    """Turns rewriting off by {"disable_meta_optimizer": True}; other options are kept.

    Args:
      options: {name of an optimizer: whether it is on}, added to those given before.
    """
    _options.rewrites.update(options)
