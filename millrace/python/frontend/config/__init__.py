"""tf.config: what sessions of this process are like that are given no ConfigProto of their own.

A session looks when it is made; what is set later counts for later ones.
"""

from millrace._run.listed_devices import list_devices as experimental_list_devices
from millrace._run.process_options import options as _options
from millrace.config import experimental, optimizer, threading


def get_soft_device_placement():
    """Whether an op may run elsewhere if it can't where it was put; False at first."""
    return _options.soft_placement


def set_soft_device_placement(enabled):
    """Says whether an op may run elsewhere if it can't where it was put."""
    _options.soft_placement = bool(enabled)
