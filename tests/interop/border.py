"""A cluster of two tasks, one of each kind, and what crosses the border between them."""

import tensorflow as tf

tf1 = tf.compat.v1

MILLRACE, TENSORFLOW = "/job:worker/task:0", "/job:worker/task:1"


def as_written(**more):
    """A config under which a graph runs as it was written: no rewriting, which could avoid the border."""
    config = tf1.ConfigProto(**more)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


class Border:
    """One task of each kind. `here` is the device of the one that is the master, `there` the other's."""

    def __init__(self, cluster, master):
        self.cluster = cluster
        self.master, self.other = "worker:0", "worker:1"
        self.here, self.there = MILLRACE, TENSORFLOW
        if master == "tensorflow":
            self.master, self.other = self.other, self.master
            self.here, self.there = self.there, self.here

    @property
    def target(self):
        return self.cluster.target(self.master)

    @staticmethod
    def task_name(device):
        """As messages have it."""
        return device.replace("/task", "/replica:0/task")

    def only_here(self):
        """A config for sessions that leave the other task alone."""
        return as_written(device_filters=[self.here])

    def session(self, config=None):
        """A session whose steps end in an error before a hang would be one."""
        config = config or as_written()
        config.operation_timeout_in_ms = config.operation_timeout_in_ms or 60_000
        return tf1.Session(self.target, config=config)

    def start_again(self, task):
        """Kills a task if it runs, and starts it."""
        self.cluster.tasks[task].kill()
        self.cluster.start(task)

    def from_there(self, tensor):
        """A tensor that was there, here."""
        with tf.device(self.here):
            return tf.identity(tensor)

    def round_trip(self, tensor):
        """The same tensor, once it has been here, there and here again."""
        for device in (self.here, self.there, self.here):
            with tf.device(device):
                tensor = tf.identity(tensor)
        return tensor
