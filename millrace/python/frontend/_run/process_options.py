"""What sessions without a ConfigProto of their own are like: tf.config sets it for the process."""

from millrace._run.config import ConfigProto, RewriterConfig

_REWRITES = {"disable_meta_optimizer", "constant_folding", "layout_optimizer"}


class ProcessOptions:
    """Options that are set before a session is made, and count from then on.

    Attributes:
      soft_placement: whether an op may go where it can run if it can't where it was put.
      log_placement: whether sessions tell where ops go.
      inter_op_threads, intra_op_threads: how many; 0 for as many as there are processors.
      cpu_devices: how many devices the CPU is.
      jit: whether to compile, which nothing here does.
      rewrites: {name of an optimizer: whether it is on}.
    """

    def __init__(self):
        self.soft_placement = False
        self.log_placement = False
        self.inter_op_threads = 0
        self.intra_op_threads = 0
        self.cpu_devices = 1
        self.jit = False
        self.rewrites = {}

    def as_config(self):
        """A ConfigProto of all that was set; None if all is as it was."""
        if vars(self) == vars(ProcessOptions()):
            return None
        config = ConfigProto(
            allow_soft_placement=self.soft_placement,
            log_device_placement=self.log_placement,
            inter_op_parallelism_threads=self.inter_op_threads,
            intra_op_parallelism_threads=self.intra_op_threads,
            device_count={"CPU": self.cpu_devices},
        )
        config.graph_options.optimizer_options.global_jit_level = int(self.jit)
        for name in _REWRITES & self.rewrites.keys():
            is_on = self.rewrites[name]
            state = RewriterConfig.ON if is_on else RewriterConfig.OFF
            value = bool(is_on) if name == "disable_meta_optimizer" else state
            setattr(config.graph_options.rewrite_options, name, value)
        return config


# There is one process, and so one of these, as in TensorFlow: tf.config has no object to hold it.
options = ProcessOptions()
