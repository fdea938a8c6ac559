"""tf.app: starting a program that has flags."""

import sys

from millrace import flags


def run(main=None, argv=None):
    """Reads the flags, then ends the program with what `main(argv)` returns.

    Args:
      main: the function; that of the program's main module if None.
      argv: the command line; sys.argv if None.
    """
    rest = flags.FLAGS(argv or sys.argv)
    main = main or sys.modules["__main__"].main
    sys.exit(main(rest))
