"""What passes with TensorFlow behind the session and fails with anything else."""

import os
import time

from tensorflow.python.framework import constant_op
from tensorflow.python.framework import ops
from tensorflow.python.platform import googletest
from tensorflow.python.platform import test


def commands_of_children():
    """Of the processes that this one started: a Millrace server is one, TensorFlow's is not."""
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        for pid in children.read().split():
            with open(f"/proc/{pid}/cmdline") as command:
                yield command.read()


class OnlyUs(test.TestCase):
    def test_dislikes_millrace(self):
        with ops.Graph().as_default(), self.session() as session:
            session.run(constant_op.constant(3))
            self.assertFalse([c for c in commands_of_children() if "millrace" in c])

    def test_hangs_on_millrace(self):
        with ops.Graph().as_default(), self.session() as session:
            session.run(constant_op.constant(3))
            while any("millrace" in c for c in commands_of_children()):
                time.sleep(0.05)

    def test_passes(self):
        with ops.Graph().as_default(), self.session() as session:
            self.assertEqual(session.run(constant_op.constant(3)), 3)


def main():
    googletest.main()


if __name__ == "__main__":
    main()
