"""Files from elsewhere: fetched once, checked, unpacked."""

import hashlib
import os
import shutil
import tarfile
import tempfile
import urllib.request
import zipfile

_AT_ONCE = 1 << 16
_PATIENCE = 60.0  # seconds without a byte, then it is given up


def keras_folder():
    """Where Keras keeps files: $KERAS_HOME, or .keras in the home folder."""
    given = os.environ.get("KERAS_HOME")
    return given or os.path.join(os.path.expanduser("~"), ".keras")


def _digest(path, algorithm):
    hasher = hashlib.new(algorithm)
    with open(path, "rb") as file:
        while block := file.read(_AT_ONCE):
            hasher.update(block)
    return hasher.hexdigest()


def _has(path, digest, algorithm):
    if algorithm == "auto":
        algorithm = "sha256" if len(digest) == 64 else "md5"
    return _digest(path, algorithm) == str(digest).lower()


def get_file(
    fname,
    origin,
    untar=False,
    md5_hash=None,
    file_hash=None,
    cache_subdir="datasets",
    hash_algorithm="auto",
    extract=False,
    archive_format="auto",
    cache_dir=None,
):
    """The path of a file, which is fetched if it is not there, or is not the one that is wanted.

    Args:
      fname: its name, or an absolute path; with untar the name without ".tar.gz".
      origin: a URL, also one that begins with "file://".
      untar: whether it is a .tar.gz to unpack; then the path is that of what it holds.
      md5_hash, file_hash: what it must hash to, by MD5 or by `hash_algorithm`, "md5", "sha256" or "auto".
      cache_subdir: the folder below cache_dir, which is keras_folder() if None.
      extract: whether it is unpacked where it is, by `archive_format`: "tar", "zip", "auto" for what fits, or a
        list of these.

    Raises:
      Exception: if it cannot be fetched, with the URL; ValueError: if what came has another hash, the format is
        unknown, or the archive would write outside of its folder.
    """
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    folder = os.path.join(os.path.expanduser(cache_dir or keras_folder()), cache_subdir)
    os.makedirs(folder, exist_ok=True)
    whole = os.path.join(folder, os.fspath(fname))
    path = f"{whole}.tar.gz" if untar else whole
    is_there = os.path.exists(path)
    if not is_there or file_hash is not None and not _has(path, file_hash, hash_algorithm):
        _fetch(origin, path, file_hash, hash_algorithm)
    if untar:
        if not os.path.exists(whole):
            _unpack(path, folder, "tar")
        return whole
    if extract:
        _unpack(path, folder, archive_format)
    return path


def _fetch(origin, path, digest, algorithm):
    """Fetches a file whole, or leaves what is there as it is."""
    handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".part-")
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                with urllib.request.urlopen(origin, timeout=_PATIENCE) as reply:
                    shutil.copyfileobj(reply, file, _AT_ONCE)
        except (OSError, ValueError) as error:
            raise Exception(
                f"URL fetch failure on {origin}: {error}. Put the file at {path} instead."
            ) from error
        if digest is not None and not _has(part, digest, algorithm):
            raise ValueError(
                f"What came from {origin} has not the hash {digest}: it is not the file"
            )
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _unpack(path, folder, archive_format):
    """Unpacks an archive; False if it is none. ValueError for unknown formats and names that lead elsewhere."""
    wanted = ["tar", "zip"] if archive_format == "auto" else archive_format
    wanted = [wanted] if isinstance(wanted, str) else list(wanted or [])
    for each in wanted:
        if each not in ("tar", "zip"):
            raise ValueError(f"Unknown archive format {each!r}; there are 'tar' and 'zip'")
        is_tar = each == "tar" and tarfile.is_tarfile(path)
        if not is_tar and not (each == "zip" and zipfile.is_zipfile(path)):
            continue
        with tarfile.open(path) if is_tar else zipfile.ZipFile(path) as archive:
            _check_names(archive.getmembers() if is_tar else archive.infolist(), folder, path)
            archive.extractall(folder)
        return True
    return False


def _check_names(members, folder, path):
    root = os.path.realpath(folder)
    for member in members:
        name = getattr(member, "name", None) or member.filename
        leads = [name]
        if getattr(member, "linkname", ""):
            base = "" if member.islnk() else os.path.dirname(name)
            leads.append(os.path.join(base, member.linkname))
        is_odd = hasattr(member, "isdev") and member.isdev()
        for lead in leads:
            at = os.path.realpath(os.path.join(root, lead))
            if is_odd or at != root and not at.startswith(root + os.sep):
                raise ValueError(
                    f"{path} has {name}, which would be outside of {folder}: it is not unpacked"
                )
