"""tf.contrib.staging: tuples that wait on a device from one step to another."""

from millrace._state.staging import StagingArea
