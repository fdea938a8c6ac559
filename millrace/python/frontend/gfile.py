"""tf.gfile: files, by TensorFlow 1's names. Only local paths for now."""

import glob as _glob
import os
import shutil


def Open(name, mode="r"):
    """A file object; text is UTF-8."""
    return open(name, mode, encoding=None if "b" in mode else "utf-8")


GFile = FastGFile = Open
Exists = os.path.exists
IsDirectory = os.path.isdir
ListDirectory = os.listdir

MkDir = os.mkdir
Remove = os.remove
DeleteRecursively = shutil.rmtree
Walk = os.walk


def MakeDirs(path):
    """Makes a folder and those around it; nothing if it is there."""
    os.makedirs(path, exist_ok=True)


def Glob(pattern):
    """The paths that match a pattern, sorted."""
    return sorted(_glob.glob(pattern))


def Copy(old, new, overwrite=False):
    """Copies a file. FileExistsError unless overwrite."""
    if not overwrite and os.path.exists(new):
        raise FileExistsError(new)
    shutil.copyfile(old, new)


def Rename(old, new, overwrite=False):
    """Renames a file. FileExistsError unless overwrite."""
    if not overwrite and os.path.exists(new):
        raise FileExistsError(new)
    os.replace(old, new)
