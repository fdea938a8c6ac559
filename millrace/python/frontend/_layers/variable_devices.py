"""VariableDeviceChooser: where variables go, one after another."""

from millrace._values.device_spec import DeviceSpec


class VariableDeviceChooser:
    """Gives each variable to the next of several tasks; for `device` of tf.contrib.framework.variable.

    Args:
      num_tasks: how many there are; 0 for no task.
      job_name: their job.
      device_type, device_index: the device of the task.
      replica: its replica; None for none.
    """

    def __init__(self, num_tasks=0, job_name="ps", device_type="CPU", device_index=0, replica=None):
        self._num_tasks, self._next = num_tasks, 0
        self._job = job_name
        self._type, self._index, self._replica = device_type, device_index, replica

    def __call__(self, op):
        spec = DeviceSpec(device_type=self._type, device_index=self._index, replica=self._replica)
        if self._num_tasks > 0:
            spec.task, spec.job = self._next, self._job
            self._next = (self._next + 1) % self._num_tasks
        return spec.to_string()
