"""A Debian 12 with nothing on it, to install packages on: made once by debootstrap, then copied for each trial."""

import os
import shutil
import subprocess
from pathlib import Path

from packages.refusal import OutOfReach, run

RELEASE = "bookworm"
# What pip needs of Debian beside the smallest system.
_BESIDE = "python3,python3-venv,ca-certificates"
_NOBODY = "65534:65534"

# Mounts in a name space of its own and processes in another: both end with the command.
_ENTER = """
set -e
root=$1 user=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
exec env -i HOME=/tmp PATH="$PATH" LANG=C.UTF-8 chroot --userspec="$user" "$root" "$@"
"""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Root:
    """A file system to run commands in, as if it were the machine's; nothing of our environment is in there."""

    # Where a trial's own files are, seen from inside.
    inside = Path("/srv/trial")

    def __init__(self, folder):
        self.folder = folder

    def run(self, command, what, user="0:0", path=_PATH, **options):
        """The output of a command that must succeed in there."""
        for needed in ("proc", "dev", "etc"):
            (self.folder / needed).mkdir(exist_ok=True)
        (self.folder / "etc" / "resolv.conf").touch()
        return run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/bash", "-c"]
            + [_ENTER, "bash", self.folder, user, *command],
            what,
            env={"PATH": path},
            **options,
        )

    def run_as_nobody(self, command, what, **options):
        return self.run(command, what, user=_NOBODY, **options)

    def put(self, source, name):
        """Copies a file or a folder into the trial's folder; returns its path, seen from inside."""
        place = self.inside / name
        target = self.folder / place.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
        return place

    def remove(self):
        run(["rm", "-rf", "--one-file-system", self.folder], f"remove {self.folder}")


class Here:
    """This machine, where no other root can be made: only commands' environment is clean."""

    def __init__(self, folder):
        self.folder = self.inside = folder
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)

    def run(self, command, what, **options):
        clean = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        return run(command, what, env=clean, **options)

    run_as_nobody = run

    def put(self, source, name):
        target = self.inside / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        return target

    def remove(self):
        shutil.rmtree(self.folder)


def why_not():
    """Why no root can be made here; "" if it can."""
    if os.geteuid() != 0:
        return "only root may change its root folder; run `sudo tools/dist --try`"
    for program in ("debootstrap", "unshare", "chroot"):
        if not shutil.which(program, path=_PATH):
            return f"there is no {program}; run tools/setup dist"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        return "this system lets nobody mount"
    return ""


def make(folder, mirror, say):
    """The pristine root in `folder`, made if it was never finished. OutOfReach, with debootstrap's last
    words, if it can't be."""
    mark = folder / "millrace-complete"
    if not mark.exists():
        say(f"making a clean Debian in {folder} from {mirror} (some 60 MB, once)")
        pristine = Root(folder)
        if folder.exists():
            pristine.remove()
        folder.parent.mkdir(parents=True, exist_ok=True)
        run(
            ["debootstrap", "--variant=minbase", f"--include={_BESIDE}", RELEASE, folder, mirror],
            f"make a clean Debian from {mirror}",
            timeout=1200,
            fault=OutOfReach,
        )
        mark.touch()
    return Root(folder)


def empty(folder):
    fresh = Root(Path(folder))
    if fresh.folder.exists():
        fresh.remove()
    fresh.folder.mkdir(parents=True)
    return fresh


def copy(pristine, folder):
    fresh = empty(folder)
    run(
        ["cp", "-a", "--reflink=auto", f"{pristine.folder}/.", fresh.folder],
        f"copy {pristine.folder}",
    )
    return fresh
