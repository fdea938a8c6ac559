"""tf.resource_loader: files that come with a program, beside its modules."""

import os as _os
import sys as _sys

_PACKAGE = _os.path.dirname(_os.path.abspath(__file__))


def _caller_folder():
    """The folder of the file whose code called the function of this module."""
    return _os.path.dirname(_os.path.abspath(_sys._getframe(2).f_code.co_filename))


def load_resource(path):
    """The bytes of a file, by its path from this package's folder. OSError if it can't be read."""
    with open(_os.path.join(_PACKAGE, path), "rb") as file:
        return file.read()


def get_data_files_path():
    """The folder of the file that calls this."""
    return _caller_folder()


def get_root_dir_with_all_resources():
    """The folder of the file that calls this."""
    return _caller_folder()


def get_path_to_datafile(path):
    """A path from the folder of the file that calls this, as one from the root."""
    return _os.path.join(_caller_folder(), path)


def readahead_file_path(path, readahead="128M"):
    """The path, as it is."""
    return path
