"""ProfileOptionBuilder: which nodes a profile shows, what of them, in which order and where."""

import copy

from millrace._values import errors

TRAINABLE_VARIABLES = "_trainable_variables"  # the type that variables which are trained have
ALL = [".*"]

# What a profile may show, and by what it may be sorted.
BYTES = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
}
TIMES = {
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
}
COUNTS = {"params": "parameters", "float_ops": "float_ops"}
SHOWN = [*BYTES, *TIMES, *COUNTS]
_SHOWN_TOO = ["device", "op_types", "occurrence", "input_shapes"]

# The least of something that a node must have to be shown.
_LEAST = (
    "min_bytes min_peak_bytes min_residual_bytes min_output_bytes min_micros min_accelerator_micros "
    "min_cpu_micros min_params min_float_ops min_occurrence"
).split()
_DEFAULTS = {
    "max_depth": 10,
    **dict.fromkeys(_LEAST, 0),
    "order_by": "name",
    "account_type_regexes": [],
    "start_name_regexes": [],
    "trim_name_regexes": [],
    "show_name_regexes": [],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": [],
    "step": -1,
    "output": "stdout",
}


def _made(**values):
    made = {
        **_DEFAULTS,
        "account_type_regexes": list(ALL),
        "start_name_regexes": list(ALL),
        "show_name_regexes": list(ALL),
    }
    return {**copy.deepcopy(made), **values}


def checked_options(options):
    """A dictionary of options with all that it lacks.

    Raises:
      tf.errors.InvalidArgumentError: for options, orders and things to show that there are not.
    """
    unknown = [key for key in options if key not in _DEFAULTS and key != "dump_to_file"]
    unknown += [each for each in options.get("select", ()) if each not in SHOWN + _SHOWN_TOO]
    order = options.get("order_by", "name")
    if order not in ("name", "occurrence", *SHOWN):
        unknown.append(order)
    if unknown:
        raise errors.InvalidArgumentError(
            None, None, f"profile: unknown options: {', '.join(map(repr, unknown))}"
        )
    made = {**copy.deepcopy(_DEFAULTS), **options}
    # As it was written before `output` was there.
    path = made.pop("dump_to_file", "")
    return {**made, "output": f"file:outfile={path}"} if path else made


class ProfileOptionBuilder:
    """Makes the options of tf.profiler.profile, which are a dictionary.

        options = (
            tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.time_and_memory())
            .with_node_names(show_name_regexes=[".*rnn.*"])
            .order_by("micros")
            .build()
        )

    Every method but `build` gives the builder back.

    Args:
      options: a dictionary to begin with; by default all nodes with their times, by name.
    """

    def __init__(self, options=None):
        if options is None:
            options = _made(max_depth=100, select=["micros"])
        self._options = copy.deepcopy(options)

    @staticmethod
    def trainable_variables_parameter():
        """Options that show how many parameters the variables have that are trained; for the view by scopes."""
        return _made(
            max_depth=10000,
            account_type_regexes=[TRAINABLE_VARIABLES],
            account_displayed_op_only=True,
            select=["params"],
        )

    @staticmethod
    def float_operation():
        """Options that show what takes floating point operations, the most first."""
        return _made(
            max_depth=10000,
            min_float_ops=1,
            order_by="float_ops",
            account_displayed_op_only=True,
            select=["float_ops"],
        )

    @staticmethod
    def time_and_memory(
        min_micros=1,
        min_bytes=1,
        min_accelerator_micros=0,
        min_cpu_micros=0,
        min_peak_bytes=0,
        min_residual_bytes=0,
        min_output_bytes=0,
    ):
        """Options that show what takes time and memory, the longest first; at least so much of each."""
        return _made(
            max_depth=10000,
            min_micros=min_micros,
            min_bytes=min_bytes,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            order_by="micros",
            account_displayed_op_only=True,
            select=["micros", "bytes"],
        )

    def build(self):
        """The dictionary."""
        return copy.deepcopy(self._options)

    def _with(self, **values):
        self._options.update(values)
        return self

    def with_max_depth(self, max_depth):
        """Nodes up to this depth: of scopes, of inputs, or of the list of ops."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes=0, min_peak_bytes=0, min_residual_bytes=0, min_output_bytes=0
    ):
        """Nodes with at least so many bytes: asked for in all, at the peak, kept, given."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(self, min_micros=0, min_accelerator_micros=0, min_cpu_micros=0):
        """Nodes that took at least so many microseconds."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params):
        """Nodes with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence):
        """Ops and lines with at least so many nodes; nodes that ran so often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops):
        """Nodes that take at least so many floating point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes):
        """Nodes alone of which a type matches: their op, their device, or what an OpLogProto gives them."""
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes=None,
        show_name_regexes=None,
        hide_name_regexes=None,
        trim_name_regexes=None,
    ):
        """Which names: where to begin, which to show, which of these to hide, below which to end."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(
            **{key: copy.copy(each) for key, each in given.items() if each is not None}
        )

    def account_displayed_op_only(self, is_true):
        """Whether sums are of what is shown alone."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self):
        """Nothing is printed or written."""
        return self._with(output="none")

    def with_stdout_output(self):
        """The profile is printed."""
        return self._with(output="stdout")

    def with_file_output(self, outfile):
        """The profile is written to a file, as text."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file):
        """A timeline is written, as chrome://tracing shows it: to timeline_file with "_" and the step behind it."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file):
        """A file for pprof; tf.profiler.profile refuses it."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute):
        """By what nodes are sorted: "name", "occurrence", or something that can be selected, the most first."""
        return self._with(order_by=attribute)

    def select(self, attributes):
        """What is shown of nodes: a list of "bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros",
        "accelerator_micros", "cpu_micros", "params", "float_ops", "device", "op_types", "occurrence",
        "input_shapes"."""
        return self._with(select=copy.copy(attributes))

    def with_step(self, step):
        """The figures of this step of a Profiler; the mean of all if it is negative."""
        return self._with(step=step)
