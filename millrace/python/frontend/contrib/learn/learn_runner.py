"""tf.contrib.learn.learn_runner: a task's part of an Experiment."""

from millrace._canned.experiments import run
