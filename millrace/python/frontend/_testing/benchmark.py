"""tf.test.Benchmark: how long ops take."""

import json
import re
import sys
import time

import numpy as np

from millrace._run.config import ConfigProto, RunMetadata, RunOptions

_classes = []  # of all benchmarks, in the order in which the program defined them


class Benchmark:
    """A class whose methods that begin with `benchmark` measure something.

    `tf.test.main` runs them, of all such classes, for a program that is called with --benchmarks=PATTERN,
    a regular expression of "Class.method".
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _classes.append(cls)

    @classmethod
    def is_abstract(cls):
        """True for classes that others are derived from: whose name begins with an underscore."""
        return cls.__name__.startswith("_")

    def report_benchmark(
        self,
        iters=None,
        cpu_time=None,
        wall_time=None,
        throughput=None,
        extras=None,
        name=None,
        metrics=None,
    ):
        """Writes a line of JSON with what was measured to the standard output.

        Args:
          iters: how many runs there were.
          cpu_time, wall_time: seconds for a run.
          throughput: megabytes in a second.
          extras: {name: text or number} of what else there is to say.
          name: the benchmark's; the method's that calls this if None.
          metrics: a list of further results.
        """
        told = {
            "name": self._get_name(name),
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": extras,
            "metrics": metrics,
        }
        known = {key: value for key, value in told.items() if value is not None}
        print("entry " + json.dumps(known, default=str), flush=True)

    def _get_name(self, overwrite_name=None):
        name = overwrite_name
        frame = sys._getframe(1)
        while name is None and frame is not None:
            own = frame.f_locals.get("self") is self
            name = (
                frame.f_code.co_name if own and frame.f_code.co_name.startswith("bench") else None
            )
            frame = frame.f_back
        return f"{type(self).__name__}.{name or 'benchmark'}"

    def evaluate(self, tensors):
        """The values of Tensors; the benchmark has a `session` for it."""
        return self.session.run(tensors)

    def run_op_benchmark(
        self,
        sess,
        op_or_tensor,
        feed_dict=None,
        burn_iters=2,
        min_iters=10,
        store_trace=False,
        store_memory_usage=True,
        name=None,
        extras=None,
        mbs=0,
    ):
        """Measures how long it takes to run an Operation, and reports it.

        Args:
          sess: a Session.
          op_or_tensor: an Operation, or a Tensor, whose Operation is run.
          feed_dict: what is fed.
          burn_iters: how many runs come first, which are not measured.
          min_iters: how many runs are measured.
          store_trace: True to report when each node ran in one more run, as extras.
          store_memory_usage: accepted.
          name, extras: as for report_benchmark.
          mbs: how many megabytes a run works through, for the throughput; 0 for no such number.

        Returns:
          {"iters", "wall_time": the median, "throughput", "extras"}.
        """
        op = getattr(op_or_tensor, "op", op_or_tensor)
        for _ in range(burn_iters):
            sess.run(op, feed_dict)
        seconds = []
        for _ in range(min_iters):
            begin = time.perf_counter()
            sess.run(op, feed_dict)
            seconds.append(time.perf_counter() - begin)
        extras = dict(extras or {})
        if store_trace:
            metadata = RunMetadata()
            sess.run(op, feed_dict, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
            extras["full_trace_nodes"] = sum(
                len(device.node_stats) for device in metadata.step_stats.dev_stats
            )
        median = float(np.median(seconds)) if seconds else -1.0
        spread = {
            "wall_time_mean": float(np.mean(seconds)),
            "wall_time_stdev": float(np.std(seconds)),
        }
        extras.update(spread if seconds else {})
        throughput = mbs / median if seconds and mbs > 0 else None
        result = {
            "iters": min_iters,
            "wall_time": median,
            "throughput": throughput,
            "extras": extras,
        }
        self.report_benchmark(name=self._get_name(name).partition(".")[2], **result)
        return result


def benchmark_config():
    """A ConfigProto for benchmarks: the graph is run as it is."""
    config = ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def run_benchmarks(pattern):
    """Runs all methods of Benchmarks whose "Class.method" a regular expression is found in.

    Returns:
      how many ran.
    """
    count = 0
    for kind in _classes:
        if kind.is_abstract():
            continue
        for name in sorted(each for each in dir(kind) if each.startswith("benchmark")):
            if re.search(pattern, f"{kind.__name__}.{name}"):
                getattr(kind(), name)()
                count += 1
    return count
