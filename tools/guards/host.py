"""What the machine gives (its clock, entropy, sleep) is passed in a Host, and reached for only where a
program begins: in bin/, in the session's Runtime, and in base/, which makes it. Tests may."""

import re
from pathlib import Path

from guards import cpp
from guards.tree import Fault

REACHED = re.compile(
    r"\b(?P<what>Clock::real\(\)|(?:steady|system|high_resolution)_clock::now\(\)"
    r"|random_device\b|make_random\(|sleep_(?:for|until)\(|StderrLog\b)"
)

BEGINNINGS = ("millrace/base/", "millrace/bin/", "millrace/session/runtime.")

# "file": why it may.
ALLOWED = {
    "millrace/transport/grpc/outgoing_call.cc": "gRPC counts deadlines by the machine's clock",
    "millrace/ops/loops/philox_blocks.cc": "a kernel may run where no worker has given it a source",
    "millrace/ops/state/queue_handles.cc": "likewise",
    "millrace/session/launched_task.cc": "what is wrong with the environment is told before there is "
    "a runtime",
}


def check(tree):
    for file in tree.below("millrace", ".h", ".cc"):
        name = str(file)
        if name.startswith(BEGINNINGS) or cpp.is_test(file):
            continue
        found = list(REACHED.finditer(cpp.code(tree.text(file))))
        if name in ALLOWED:
            if not found:
                own = Path("tools/guards/host.py")
                yield Fault(own, 1, f"{file} reaches for nothing any more: take it off the list")
            continue
        for match in found:
            line = tree.text(file).count("\n", 0, match.start()) + 1
            what = match["what"].rstrip("(")
            yield Fault(file, line, f"{what} is reached for: take it from a Host (base/host.h)")
