"""What a run was made with: versions, the machine, the day."""

import datetime
import os
import platform
import re
import subprocess

import interpreters


def _said(*command, library="none"):
    done = subprocess.run(
        command, capture_output=True, text=True, env=interpreters.environment(library), timeout=120
    )
    lines = done.stdout.strip().splitlines()
    return lines[-1] if done.returncode == 0 and lines else "unknown"


def versions():
    processor = re.search(
        r"^model name\s*:\s*(.*)$", open("/proc/cpuinfo", encoding="utf-8").read(), re.M
    )
    theirs = "import tensorflow as tf; print(tf.__version__)"
    ours = "import millrace; print(millrace.__version__)"
    commit = _said("git", "-C", str(interpreters.ROOT), "describe", "--always", "--dirty")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "TensorFlow": _said(interpreters.python("tensorflow"), "-c", theirs, library="tensorflow"),
        "Millrace": _said(interpreters.python("millrace"), "-c", ours, library="millrace")
        + f" ({commit})",
        "gRPC of Millrace": _said("pkg-config", "--modversion", "grpc++"),
        "Python": platform.python_version(),
        "kernel": platform.release(),
        "processor": f"{processor.group(1) if processor else platform.machine()}, {os.cpu_count()} cores",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }
