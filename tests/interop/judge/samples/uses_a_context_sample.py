"""Runs an eager op while it is imported, so that processes forked afterwards could not."""

import tensorflow as tf

THREE = tf.constant(3) + 0


class AfterAnEagerImport(tf.test.TestCase):
    def test_runs_in_a_session(self):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            self.assertEqual(session.run(tf.constant(4)), THREE.numpy() + 1)
