"""A test for each way in which a test can end."""

import os
import time

from absl.testing import parameterized
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op
from tensorflow.python.framework import dtypes
from tensorflow.python.framework import errors
from tensorflow.python.framework import ops
from tensorflow.python.framework import test_util
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import gen_audio_ops
from tensorflow.python.ops import script_ops
from tensorflow.python.platform import test


class Passing(test.TestCase, parameterized.TestCase):
    def test_in_a_cached_session(self):
        with ops.Graph().as_default(), self.cached_session() as session:
            self.assertEqual(session.run(constant_op.constant(3) * 2), 6)

    @test_util.run_deprecated_v1
    def test_evaluates_without_naming_a_session(self):
        self.assertAllEqual(self.evaluate(constant_op.constant([1, 2]) + 1), [2, 3])

    @test_util.run_in_graph_and_eager_modes
    def test_in_both_modes(self):
        self.assertAllEqual(self.evaluate(constant_op.constant([1, 2]) + 1), [2, 3])

    @parameterized.named_parameters(("one", 1), ("two", 2))
    def test_named(self, value):
        with ops.Graph().as_default(), self.session() as session:
            self.assertEqual(session.run(constant_op.constant(value)), value)

    @parameterized.parameters(1, 2)
    def test_numbered(self, value):
        with ops.Graph().as_default(), self.session() as session:
            self.assertEqual(session.run(constant_op.constant(value)), value)

    def test_a_failing_step_that_is_expected(self):
        with ops.Graph().as_default(), self.session() as session:
            with self.assertRaisesOpError("must be fed|feed a value"):
                session.run(array_ops.placeholder(dtypes.float32))


class Failing(test.TestCase):
    def test_on_every_server(self):
        with ops.Graph().as_default(), self.session() as session:
            self.assertEqual(session.run(constant_op.constant(3)), 4)

    def test_hangs_on_every_server(self):
        with ops.Graph().as_default(), self.session() as session:
            session.run(constant_op.constant(3))
            time.sleep(1000)

    def test_kills_its_process(self):
        with ops.Graph().as_default(), self.session() as session:
            session.run(constant_op.constant(3))
            os.abort()

    def test_needs_threads_of_its_own_process(self):
        config = config_pb2.ConfigProto()
        config.session_inter_op_thread_pool.add()
        with ops.Graph().as_default(), self.session(config=config) as session:
            session.run(constant_op.constant(3))


class Wanting(test.TestCase):
    def test_ops_of_two_kinds(self):
        with ops.Graph().as_default(), self.session() as session:
            x = constant_op.constant([[0.5], [0.25]])
            spectrum = gen_audio_ops.audio_spectrogram(x, window_size=2, stride=1)
            session.run([spectrum, gen_audio_ops.encode_wav(x, 8000)])


class Elsewhere(test.TestCase):
    def test_eager_only(self):
        self.assertTrue(context.executing_eagerly())
        self.assertAllEqual(constant_op.constant([1]) + 1, [2])

    def test_builds_a_graph_and_runs_nothing(self):
        with ops.Graph().as_default(), self.session():
            constant_op.constant(3)

    def test_expects_an_error_of_python_that_no_server_has(self):
        def wrong(_):
            raise ValueError("as it should")

        with ops.Graph().as_default(), self.session() as session:
            called = script_ops.py_func(wrong, [constant_op.constant(3)], dtypes.int32)
            with self.assertRaises(errors.InvalidArgumentError):
                session.run(called)

    def test_skips_itself(self):
        self.skipTest("there is no GPU")

    def test_fails_without_a_server(self):
        self.fail("no server has to do with it")


class SettingUp(test.TestCase):
    def setUp(self):
        super().setUp()
        with ops.Graph().as_default(), self.session() as session:
            session.run(constant_op.constant(3))
        raise ValueError("it was never set up")

    def test_never_begins(self):
        self.fail("it began")


if __name__ == "__main__":
    test.main()
