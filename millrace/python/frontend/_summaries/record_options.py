"""How files of records are compressed."""


class TFRecordCompressionType:
    """How a file of records is compressed."""

    NONE, ZLIB, GZIP = 0, 1, 2


_NAMES = {"": "", None: "", "ZLIB": "ZLIB", "GZIP": "GZIP", 0: "", 1: "ZLIB", 2: "GZIP"}


class TFRecordOptions:
    """How a file of records is compressed: "", "ZLIB", "GZIP", or a TFRecordCompressionType.

    Raises:
      ValueError: for anything else.
    """

    def __init__(self, compression_type=None, **unused):
        self.compression_type = self.get_compression_type_string(compression_type)

    @staticmethod
    def get_compression_type_string(options):
        """The name, "", "ZLIB" or "GZIP", of TFRecordOptions or of what they are made of."""
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        if options not in _NAMES:
            raise ValueError(
                f"Not a valid compression_type: {options!r}; '', 'ZLIB' and 'GZIP' are"
            )
        return _NAMES[options]
