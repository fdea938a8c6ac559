"""A Kerberos realm of its own, which tools/kerberos-realm runs on this machine, and tickets of it."""

import contextlib
import getpass
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

REALM = Path(__file__).parents[2] / "tools" / "kerberos-realm"
NOT_THERE = 3


@contextlib.contextmanager
def running_realm():
    """The folder of a realm that gives tickets."""
    folder = Path(tempfile.mkdtemp(prefix="realm-"))
    try:
        up = subprocess.run([REALM, "up", folder], capture_output=True, text=True, timeout=120)
        if up.returncode == NOT_THERE:
            pytest.skip(f"LEFT OUT, clusters with Kerberos: {up.stderr}")
        assert up.returncode == 0, up.stderr
        yield folder
    finally:
        subprocess.run([REALM, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


class Tickets:
    """What one user holds: the caller's own name in the realm, in a file of its own."""

    def __init__(self, realm, file):
        self.realm, self.file = realm, file
        self.environment = {
            "KRB5_CONFIG": str(realm / "krb5.conf"),
            "KRB5CCNAME": f"FILE:{file}",
        }

    def get(self, life="1h"):
        user = getpass.getuser()
        subprocess.run(
            ["kinit", "-l", life, "-k", "-t", self.realm / "keytabs" / f"{user}.keytab", user],
            env=self.environment,
            check=True,
            timeout=60,
        )

    def lose(self):
        self.file.unlink(missing_ok=True)


def curl(url, tickets, *words):
    """The body of an answer to who shows a ticket."""
    done = subprocess.run(
        ["curl", "--silent", "--negotiate", "--user", ":", "--max-time", "60", *words, url],
        env=tickets.environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_let_in(url, tickets):
    """Whether the server there believes who asks."""
    words = ["--output", "/dev/null", "--write-out", "%{http_code}"]
    return curl(url, tickets, *words) != "401"
