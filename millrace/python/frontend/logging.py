"""tf.logging: lines with a level, on the standard error."""

import collections
import logging
import sys

DEBUG, INFO, WARN, ERROR, FATAL = (
    logging.DEBUG,
    logging.INFO,
    logging.WARNING,
    logging.ERROR,
    logging.CRITICAL,
)


def get_logger():
    """The logger of Python's own that lines go to."""
    logger = logging.getLogger("millrace")
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s:%(message)s"))
        logger.addHandler(handler)
    return logger


def set_verbosity(level):
    """Shows lines of this level and above."""
    get_logger().setLevel(level)


def get_verbosity():
    return get_logger().getEffectiveLevel()


_counts = collections.Counter()  # of messages, by the place that logs them


def _count_here():
    """How often the caller of the function that calls this has logged before."""
    frame = sys._getframe(2)
    place = (frame.f_code.co_filename, frame.f_lineno)
    _counts[place] += 1
    return _counts[place] - 1


def log_if(level, msg, condition, *args):
    """Logs if a condition holds."""
    if condition:
        log(level, msg, *args)


def log_first_n(level, msg, n, *args):
    """Logs the first n times that this place of the program comes here."""
    log_if(level, msg, _count_here() < n, *args)


def log_every_n(level, msg, n, *args):
    """Logs each n-th time that this place of the program comes here, the first among them."""
    log_if(level, msg, _count_here() % n == 0, *args)


def vlog(level, msg, *args):
    """Logs at a level by its number."""
    log(level, msg, *args)


def flush():
    """Hands all lines to where they go."""
    for handler in get_logger().handlers:
        handler.flush()


def log(level, message, *args):
    get_logger().log(level, message, *args)


def debug(message, *args):
    get_logger().debug(message, *args)


def info(message, *args):
    get_logger().info(message, *args)


def warning(message, *args):
    get_logger().warning(message, *args)


warn = warning


def error(message, *args):
    get_logger().error(message, *args)


def fatal(message, *args):
    get_logger().critical(message, *args)
