"""Which interpreter has which library, and what its processes must find in their environment."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent


def build():
    """The build tree of Millrace; children of the driver find it in their environment."""
    return pathlib.Path(os.environ.get("MILLRACE_BUILD") or ROOT / "build")


def python(library):
    """The interpreter of "tensorflow" or "millrace"; of "none", to measure limits."""
    if library == "tensorflow":
        return str(
            ROOT / "build" / "tensorflow" / "bin" / "python"
        )  # where tools/tensorflow puts it
    return str(build() / "bin" / "python3")


def environment(library):
    found = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    # A proxy for the outside world is none for tasks on this machine; gRPC would ask it.
    found["no_proxy"] = found["NO_PROXY"] = "*"
    found.pop("PYTHONPATH", None)
    if library == "millrace":
        found["PYTHONPATH"] = str(build() / "python")
    found["PATH"] = f"{build() / 'bin'}{os.pathsep}{found['PATH']}"
    return found


def load(library):
    """The library, as the TensorFlow 1 API. Only ever one of them per process."""
    if library == "tensorflow":
        import tensorflow

        tensorflow.compat.v1.disable_v2_behavior()
        return tensorflow.compat.v1
    import millrace

    return millrace
