"""What tf.keras.backend lets a program set: the type of numbers that models prefer, and what counts as
nearly zero."""


class _Settings:
    floatx = "float32"
    epsilon = 1e-7


def floatx():
    """The name of the type."""
    return _Settings.floatx


def set_floatx(value):
    """Sets it to "float16", "float32" or "float64". ValueError for others."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _Settings.floatx = str(value)


def epsilon():
    """What is added to what must not be zero."""
    return _Settings.epsilon


def set_epsilon(value):
    _Settings.epsilon = value
