"""What TensorFlow loads from files of machine code: refused."""


def load_op_library(library_filename):
    """NotImplementedError: ops compiled for TensorFlow need its own program around them.

    Args:
      library_filename: the file.
    """
    raise NotImplementedError(
        f"{library_filename}: ops that were compiled for TensorFlow can't be loaded, they call into "
        "TensorFlow. tf.py_func runs a function of Python in a graph; an op in C++ is a value in "
        "Millrace's op library (ops/README.md)."
    )


def load_library(library_location):
    """NotImplementedError, as load_op_library."""
    load_op_library(library_location)


def load_file_system_library(library_filename):
    """NotImplementedError: file systems are not loaded from files."""
    raise NotImplementedError(f"{library_filename}: file systems can't be loaded from files.")
