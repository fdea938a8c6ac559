"""What the machine gives (its clock, entropy, sleep) is passed in a Host, and reached for only where a
program begins: in bin/, in the session's Runtime, and in base/, which makes it. Tests may. What graphs do
with files (ops/, io/) goes through the Host's Files, which io/local_files.cc makes."""

import re
from pathlib import Path

from guards import cpp
from guards.tree import Fault

REACHED = re.compile(
    r"\b(?P<what>Clock::real\(\)|(?:steady|system|high_resolution)_clock::now\(\)"
    r"|random_device\b|make_random\(|sleep_(?:for|until)\(|StderrLog\b)"
)

DISK = re.compile(
    r"(?P<what>\b(?:std::)?[io]?fstream\b|\bfopen\(|\bopendir\(|(?<![\w>])::open\(|\bstd::filesystem\b)"
)
WITHOUT_DISK = ("millrace/ops/", "millrace/io/")

BEGINNINGS = ("millrace/base/", "millrace/bin/", "millrace/session/runtime.")

# "file": why it may.
ALLOWED = {
    "millrace/transport/grpc/outgoing_call.cc": "gRPC counts deadlines by the machine's clock",
    "millrace/transport/grpc/completion_queue.cc": "its reader shares sockets with threads that wait by "
    "the machine's clock",
    "millrace/ops/loops/philox_blocks.cc": "a kernel may run where no worker has given it a source",
    "millrace/ops/data/seeds.cc": "likewise",
    "millrace/ops/state/queue_handles.cc": "likewise",
    "millrace/ops/exchange/batches.cc": "likewise",
    "millrace/io/local_files.cc": "it is the disk",
    "millrace/session/launched_task.cc": "what is wrong with the environment is told before there is "
    "a runtime",
}


def check(tree):
    for file in tree.below("millrace", ".h", ".cc"):
        name = str(file)
        if name.startswith(BEGINNINGS) or cpp.is_test(file):
            continue
        code = cpp.code(tree.text(file))
        found = list(REACHED.finditer(code))
        if name.startswith(WITHOUT_DISK):
            found += DISK.finditer(code)
        if name in ALLOWED:
            if not found:
                own = Path("tools/guards/host.py")
                yield Fault(own, 1, f"{file} reaches for nothing any more: take it off the list")
            continue
        for match in found:
            line = tree.text(file).count("\n", 0, match.start()) + 1
            what = match["what"].rstrip("(").removeprefix("::")
            yield Fault(file, line, f"{what} is reached for: take it from a Host (base/host.h)")
