"""Sums of float32 over 2 and 4 processes of this machine, 4 B to 64 MiB: all-reduce, each a step of its own, and small ones
also many in a step, one after the other.

The peer is OpenMPI, which goes through shared memory, if its mpicc and mpirun are there (Debian's libopenmpi-dev and
openmpi-bin); otherwise the figures stand alone, and a line says so.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

from figures import report, rounds

ROUNDS = 5
PATIENCE = 100  # seconds
SIZES = {"4 B": 1, "4 KiB": 1 << 10, "64 KiB": 16 << 10, "1 MiB": 1 << 18, "64 MiB": 16 << 20}
TOGETHER = 32  # sums in a step,
SMALL = 16 << 10  # of so many floats at most
# At most so many times OpenMPI's time.
ONE_STEP = 0.67
IN_A_STEP = 1.0
HERE = pathlib.Path(__file__).resolve().parent


def times_of(count):
    """How many sums make a sample: some hundredths of a second of them, or two."""
    return max(2, min(200, (1 << 24) // count))


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Group:
    """Processes that take the same orders on their inputs; the first one's answer counts."""

    def __init__(self, stack, commands):
        self._members = [
            stack.enter_context(
                subprocess.Popen(c, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for c in commands
        ]
        # Before what they are waited with: one whose peers are gone would not end.
        for member in self._members:
            stack.callback(member.kill)

    def read(self):
        return [member.stdout.readline().strip() for member in self._members]

    def measure(self, count, together=1):
        for member in self._members:
            print(count, together, times_of(count), file=member.stdin, flush=True)
        answers = self.read()
        if not all(answers):
            sys.exit("a member of the group has ended; it has said why above")
        return float(answers[0])


def ours(stack, members):
    addresses = [f"127.0.0.1:{port}" for port in free_ports(members)]
    member = str(HERE / "all_reduce_of_millrace.py")
    group = Group(stack, [[sys.executable, member, str(i), *addresses] for i in range(members)])
    group.read()
    return group


def mpi_program(folder):
    """The peer's program; None if it can't be had."""
    compiler = shutil.which("mpicc")
    if compiler is None or shutil.which("mpirun") is None:
        print("no OpenMPI here (mpicc and mpirun): figures stand alone", file=sys.stderr)
        return None
    program = os.path.join(folder, "all_reduce")
    source = str(HERE / "all_reduce_of_mpi.c")
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return program


def measure_mpi(program, members):
    """Microseconds of each size. In a run of their own: MPI's processes poll while they wait for orders."""
    run = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(members)]
    if os.geteuid() == 0:
        run.append("--allow-run-as-root")
    orders = "".join(f"{count} {times_of(count)}\n" for count in SIZES.values())
    done = subprocess.run(
        [*run, program],
        input=orders + "0 0\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode != 0:
        sys.exit(f"mpirun has failed:\n{done.stderr}")
    return [float(line) for line in done.stdout.split()]


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = mpi_program(folder)
        for members in (2, 4):
            mine, theirs = [], []
            with contextlib.ExitStack() as stack:
                group = ours(stack, members)
                for is_counted in rounds(ROUNDS):
                    took = [group.measure(count) for count in SIZES.values()]
                    many = [group.measure(n, TOGETHER) for n in SIZES.values() if n <= SMALL]
                    its = measure_mpi(program, members) if program else None
                    if is_counted:
                        mine.append((took, many))
                        theirs.append(its)
            beside = "OpenMPI" if program else None
            for way, words in enumerate((", a step each", f", {TOGETHER} in a step")):
                for i, (size, count) in enumerate(SIZES.items()):
                    if way == 1 and count > SMALL:
                        continue
                    peer = [its[i] for its in theirs] if program else None
                    name = f"all-reduce of {size} over {members} processes{words}"
                    took = [both[way][i] for both in mine]
                    # A step has a price of its own, which only large sums are worth.
                    goal = (ONE_STEP if count > SMALL else None) if way == 0 else IN_A_STEP
                    report(
                        name,
                        "us",
                        took,
                        baseline_name=beside,
                        baseline=peer,
                        goal_ratio=goal if program else None,
                    )


if __name__ == "__main__":
    main()
