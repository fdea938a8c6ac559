"""Timeline: when the nodes of a step ran, as Chrome's chrome://tracing shows it."""

import json
import re


class Timeline:
    """The step_stats of a RunMetadata as a picture.

    Args:
      step_stats: of a run with trace_level=RunOptions.FULL_TRACE.
      graph: accepted; the inputs of nodes are not shown.
    """

    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False):
        """The JSON text that chrome://tracing loads: a row per thread of each device.

        Args:
          show_dataflow, show_memory: accepted; traces have neither.
        """
        events = []
        for pid, device in enumerate(self._step_stats.dev_stats):
            name = {"name": f"{device.device} Compute"}
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": name})
            rows = {}
            for node in device.node_stats:
                tid = rows.setdefault(node.thread_id, len(rows))
                told = re.fullmatch(r"(.*) = ([^(]*).*", node.timeline_label)
                op = told[2] if told else node.node_name
                events.append(
                    {
                        "ph": "X",
                        "cat": "Op",
                        "name": op,
                        "pid": pid,
                        "tid": tid,
                        "ts": node.all_start_micros,
                        "dur": node.all_end_rel_micros,
                        "args": {"name": node.node_name, "op": op},
                    }
                )
        return json.dumps({"traceEvents": events}, indent=4)
