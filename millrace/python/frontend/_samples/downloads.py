"""Files from elsewhere: fetched once, checked, unpacked."""

import hashlib
import http.client
import os
import shutil
import tarfile
import tempfile
import urllib.request
import zipfile
import zlib

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
      Exception: if it cannot be fetched whole, with the URL; ValueError: if what came has another hash, the
        format is unknown, the archive is torn or would write outside of its folder, or with untar is none.
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
        if not os.path.exists(whole) and not _unpack(path, folder, "tar"):
            raise ValueError(f"{path} is no archive: remove it, so that it is fetched anew")
        return whole
    if extract:
        _unpack(path, folder, archive_format)
    return path


def _fetch(origin, path, digest, algorithm):
    """Fetches a file whole, or leaves what is there as it is."""
    print("Downloading data from", origin)
    part = f"{path}.part{os.urandom(8).hex()}"
    try:
        try:
            with open(part, "xb") as file:
                with urllib.request.urlopen(origin, timeout=_PATIENCE) as reply:
                    shutil.copyfileobj(reply, file, _AT_ONCE)
                    _check_length(reply.headers, file.tell())
        except (OSError, ValueError, http.client.HTTPException) as error:
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


def _check_length(headers, count):
    """OSError if fewer bytes came than were told: a connection that breaks ends like a file."""
    told = headers.get("Content-Length")
    if told is not None and "Transfer-Encoding" not in headers and count != int(told):
        raise OSError(f"{count} of {told} bytes came")


def _unpack(path, folder, archive_format):
    """Unpacks an archive whole, or leaves the folder as it is; False if it is none. ValueError for unknown
    formats, torn archives and names that lead elsewhere."""
    wanted = ["tar", "zip"] if archive_format == "auto" else archive_format
    wanted = [wanted] if isinstance(wanted, str) else list(wanted or [])
    for each in wanted:
        if each not in ("tar", "zip"):
            raise ValueError(f"Unknown archive format {each!r}; there are 'tar' and 'zip'")
        is_tar = each == "tar" and tarfile.is_tarfile(path)
        if not is_tar and not (each == "zip" and zipfile.is_zipfile(path)):
            continue
        aside = tempfile.mkdtemp(dir=folder, prefix=".unpacked-")
        try:
            with tarfile.open(path) if is_tar else zipfile.ZipFile(path) as archive:
                _extract(archive, aside, path)
            _move_into(folder, aside)
        except (EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is a torn archive ({error}): remove it, so that it is fetched anew"
            ) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return True
    return False


def _extract(archive, folder, path):
    """Unpacks into an empty folder. Each name is looked at when those before it are there: a link that is
    harmless by its name may lead elsewhere through another one."""
    root = os.path.realpath(folder)
    if isinstance(archive, zipfile.ZipFile):
        for member in archive.infolist():
            _check_inside(root, [member.filename], member.filename, path)
            archive.extract(member, root)
        return
    archive.extraction_filter = getattr(tarfile, "data_filter", None)
    for member in archive:
        leads = [member.name]
        if member.issym() or member.islnk():
            base = "" if member.islnk() else os.path.dirname(member.name)
            leads.append(os.path.join(base, member.linkname))
        if member.isdev():
            raise ValueError(f"{path} has {member.name}, which is a device: it is not unpacked")
        _check_inside(root, leads, member.name, path)
        archive.extract(member, root, set_attrs=not member.isdir())


def _check_inside(root, leads, name, path):
    for lead in leads:
        at = os.path.realpath(os.path.join(root, lead))
        if at != root and not at.startswith(root + os.sep):
            raise ValueError(f"{path} has {name}, which would be outside: it is not unpacked")


def _move_into(folder, aside):
    """Moves what is in one folder into another, in place of what has the same names there."""
    for each in os.scandir(aside):
        at = os.path.join(folder, each.name)
        if each.is_dir(follow_symlinks=False) and os.path.isdir(at) and not os.path.islink(at):
            _move_into(at, each.path)
        else:
            os.replace(each.path, at)
