"""tf.logging: lines with a level, on the standard error."""

import logging

DEBUG, INFO, WARN, ERROR, FATAL = (
    logging.DEBUG,
    logging.INFO,
    logging.WARNING,
    logging.ERROR,
    logging.CRITICAL,
)


def _logger():
    logger = logging.getLogger("millrace")
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s:%(message)s"))
        logger.addHandler(handler)
    return logger


def set_verbosity(level):
    """Shows lines of this level and above."""
    _logger().setLevel(level)


def get_verbosity():
    return _logger().getEffectiveLevel()


def log(level, message, *args):
    _logger().log(level, message, *args)


def debug(message, *args):
    _logger().debug(message, *args)


def info(message, *args):
    _logger().info(message, *args)


def warning(message, *args):
    _logger().warning(message, *args)


warn = warning


def error(message, *args):
    _logger().error(message, *args)


def fatal(message, *args):
    _logger().critical(message, *args)
