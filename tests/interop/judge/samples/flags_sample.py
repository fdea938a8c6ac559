"""A module with flags, and something to do before its tests when it is run as a program."""

from absl import flags
from tensorflow.python.framework import constant_op
from tensorflow.python.framework import ops
from tensorflow.python.platform import test
from xla.tsl.protobuf import rpc_options_pb2

FLAGS = flags.FLAGS
flags.DEFINE_integer("sample_value", 3, "what the session is expected to say")
prepared = []


class Flags(test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.value = FLAGS.sample_value

    def test_has_what_the_program_prepared(self):
        self.assertEqual(prepared, ["by the program"])
        self.assertTrue(rpc_options_pb2.RPCOptions())
        with ops.Graph().as_default(), self.session() as session:
            self.assertEqual(session.run(constant_op.constant(self.value)), FLAGS.sample_value)


if __name__ == "__main__":
    prepared.append("by the program")
    test.main()
