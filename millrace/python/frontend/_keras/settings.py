"""What tf.keras.backend lets a program set: the type of numbers that models prefer, what counts as
nearly zero, and where images have their channels."""


class _Settings:
    floatx = "float32"
    epsilon = 1e-7
    data_format = "channels_last"


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


def image_data_format():
    """ "channels_last" or "channels_first": what layers of images take where they are not told."""
    return _Settings.data_format


def set_image_data_format(data_format):
    """Sets it. ValueError for another word."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _Settings.data_format = str(data_format)


def format_or_default(data_format):
    """A data_format, or the one that is set for None."""
    return image_data_format() if data_format is None else data_format
