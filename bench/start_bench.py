"""Starting a server: from exec to the line that says it serves, and its memory once it does.

The baseline is `millrace version`: what the same program needs to start and do nothing.
"""

import re
import shutil
import subprocess
import time

from figures import report, rounds

ROUNDS = 9


def start_and_stop(command):
    """Milliseconds until the server says that it serves, and its resident memory in MB."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout.readline().startswith(b"serving"), "the server did not start"
        took = (time.perf_counter() - start) * 1e3
        with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
            resident = int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1e3
        server.terminate()
    return took, resident


def main():
    millrace = shutil.which("millrace")
    serve = [millrace, "serve", "--worker_hosts=127.0.0.1:0", "--job_name=worker", "--task_index=0"]
    starts, memory, baseline = [], [], []
    for is_counted in rounds(ROUNDS):
        took, resident = start_and_stop(serve)
        start = time.perf_counter()
        subprocess.run([millrace, "version"], check=True, stdout=subprocess.DEVNULL)
        nothing = (time.perf_counter() - start) * 1e3
        if is_counted:
            starts.append(took)
            memory.append(resident)
            baseline.append(nothing)
    name = "the program doing nothing"
    report("server, from exec to serving", "ms", starts, 50, name, baseline)
    report("server, resident memory", "MB", memory, 30)


if __name__ == "__main__":
    main()
