"""tf.compat: v1 is this package itself."""

from sys import modules as _modules

v1 = _modules["millrace"]


def as_bytes(text, encoding="utf-8"):
    """bytes of bytes or str. TypeError for anything else."""
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {text!r}")


def as_text(text, encoding="utf-8"):
    """str of bytes or str. TypeError for anything else."""
    if isinstance(text, str):
        return text
    if isinstance(text, bytes):
        return text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {text!r}")


as_str = as_text
as_str_any = str
