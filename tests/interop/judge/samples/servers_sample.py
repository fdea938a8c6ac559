"""A module that starts servers itself, in the ways there are."""

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session as session_lib
from tensorflow.python.framework import test_util
from tensorflow.python.platform import test
from tensorflow.python.training import server_lib

v1 = tf.compat.v1


class Servers(test.TestCase):
    def __init__(self, method="runTest"):
        super().__init__(method)
        self._server = server_lib.Server.create_local_server()

    def test_made_with_the_test_case(self):
        self.assertStartsWith(self._server.target, "grpc://")
        with tf.Graph().as_default(), v1.Session(self._server.target) as session:
            self.assertEqual(session.run(tf.constant(3)), 3)

    def test_variables_are_shared_by_sessions_of_a_target(self):
        with tf.Graph().as_default():
            x = v1.get_variable("x", initializer=3, use_resource=False)
            with v1.Session(self._server.target) as session:
                session.run(x.initializer)
            with v1.Session(self._server.target) as session:
                self.assertEqual(session.run(x), 3)

    def test_a_local_cluster(self):
        workers, ps = test_util.create_local_cluster(num_workers=2, num_ps=1)
        self.assertEqual((len(workers), len(ps)), (2, 1))
        self.assertEqual(workers[1].server_def.task_index, 1)
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                x = tf.constant(3)
            with tf.device("/job:worker/task:1"):
                y = x * 2
            with session_lib.Session(workers[0].target) as session:
                self.assertEqual(session.run(y), 6)

    def test_devices_that_the_server_is_configured_to_have(self):
        config = config_pb2.ConfigProto(device_count={"CPU": 3})
        server = tf.distribute.Server({"local": ["localhost:0"]}, config=config)
        with v1.Session(server.target) as session:
            self.assertEqual(len(session.list_devices()), 3)

    def test_a_time_limit_that_the_server_is_configured_to_have(self):
        config = config_pb2.ConfigProto(operation_timeout_in_ms=200)
        server = tf.distribute.Server({"local": ["localhost:0"]}, config=config)
        with tf.Graph().as_default():
            nothing = v1.FIFOQueue(1, tf.int32).dequeue()
            no_limit = config_pb2.ConfigProto()
            with v1.Session(server.target, config=no_limit) as session:
                with self.assertRaises(tf.errors.DeadlineExceededError):
                    session.run(nothing)

    def test_ops_that_run_eagerly_on_a_server(self):
        workers, _ = test_util.create_local_cluster(num_workers=1, num_ps=0)
        tf.config.experimental_connect_to_host(workers[0].target)
        with tf.device("/job:worker/task:0"):
            self.assertEqual((tf.constant(3) + 1).numpy(), 4)

    def test_python_of_the_process_that_starts_the_server(self):
        with tf.Graph().as_default(), v1.Session(self._server.target) as session:
            called = tf.numpy_function(lambda x: x + 1, [tf.constant(3)], tf.int32)
            self.assertEqual(session.run(called), 4)

    def test_a_port_that_is_taken(self):
        port = self._server.target.rsplit(":", 1)[1]
        with self.assertRaises(tf.errors.UnknownError):
            server_lib.Server({"local": [f"localhost:{port}"]})


class WithoutTarget(test.TestCase):
    def test_variables_are_a_sessions_own(self):
        with tf.Graph().as_default():
            x = v1.get_variable("x", initializer=3, use_resource=False)
            with v1.Session() as session:
                session.run(x.initializer)
            with v1.Session() as session, self.assertRaises(tf.errors.FailedPreconditionError):
                session.run(x)

    def test_devices_that_the_session_asks_for(self):
        config = config_pb2.ConfigProto(device_count={"CPU": 2})
        with tf.Graph().as_default(), v1.Session(config=config) as session:
            with tf.device("/device:CPU:1"):
                x = tf.constant(3)
            self.assertEqual(session.run(x), 3)
            names = [device.name for device in session.list_devices()]
        self.assertIn("/job:localhost/replica:0/task:0/device:CPU:1", names)
