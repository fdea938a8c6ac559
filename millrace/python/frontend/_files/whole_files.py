"""Files that are read and written in one piece, as TensorFlow's file_io has them.

What goes wrong is an error of tf.errors that is one of Python's too (refusals.py).
"""

from millrace._files import paths
from millrace._files.refusals import as_status


def read_file_to_string(filename, binary_mode=False):
    """What is in a file: str, or bytes in binary mode. NotFoundError if there is none."""
    with as_status(filename), paths.open_file(filename, "rb") as file:
        data = file.read()
    return data if binary_mode else data.decode()


def write_string_to_file(filename, file_content):
    """Makes a file of str or bytes, or puts them in the place of what it held."""
    data = file_content.encode() if isinstance(file_content, str) else file_content
    with as_status(filename), paths.open_file(filename, "wb") as file:
        file.write(data)
