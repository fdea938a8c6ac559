"""Stores that tests of remote files start: a real S3 server, and one that breaks where the test says."""

import contextlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "support"))
sys.path.append(str(Path(__file__).parents[1] / "cluster"))

from ports import free_ports  # noqa: E402
from store_programs import DEADLINE, ROOT, environment  # noqa: E402

GETTING_IT = 960  # seconds, once on a machine


@contextlib.contextmanager
def moto_server(log, **variables):
    """The address of a moto_server that runs meanwhile."""
    found = subprocess.run(
        [ROOT / "tools" / "moto"], capture_output=True, text=True, timeout=GETTING_IT
    )
    if found.returncode != 0:
        pytest.skip(f"LEFT OUT, files on a real S3 server: {found.stderr}")
    [port] = free_ports(1)
    server = subprocess.Popen(
        [found.stdout.strip(), "-H", "127.0.0.1", "-p", str(port)],
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
        env=environment(**variables),
    )
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + DEADLINE
    try:
        while True:
            try:
                send(f"{address}/moto-api/")
                break
            except urllib.error.URLError:
                assert server.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=DEADLINE)


def send(url, **request):
    """What a server answers."""
    with urllib.request.urlopen(urllib.request.Request(url, **request), timeout=DEADLINE) as answer:
        return answer.read().decode()


@pytest.fixture(scope="session")
def moto(tmp_path_factory):
    """The address of a server that takes all keys, with a bucket "bucket"."""
    with moto_server(tmp_path_factory.mktemp("moto") / "log") as address:
        send(f"{address}/bucket", method="PUT")
        yield address


@pytest.fixture
def s3(moto, request):
    """Variables by which programs reach the server."""
    return {
        "AWS_ENDPOINT_URL": moto,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "never-shown",
        "AWS_REGION": "us-east-1",
        # What of a test's is where: each has a folder of its own.
        "FOLDER": f"s3://bucket/{request.node.name}",
    }


_POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
_IDENTITY = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20200101/us-east-1/iam/aws4_request, "
    "SignedHeaders=host, Signature=0"
}


@pytest.fixture
def strict_s3(tmp_path):
    """Variables by which programs reach a server that checks every signature."""
    # What makes the user whose signatures are checked then: four requests.
    with moto_server(tmp_path / "log", INITIAL_NO_AUTH_ACTION_COUNT="4") as address:

        def ask(action, **values):
            values = {"Action": action, "UserName": "u", "Version": "2010-05-08", **values}
            data = urllib.parse.urlencode(values).encode()
            return send(address, method="POST", data=data, headers=_IDENTITY)

        ask("CreateUser")
        key = ask("CreateAccessKey")
        ask("PutUserPolicy", PolicyName="p", PolicyDocument=_POLICY)
        send(f"{address}/bucket", method="PUT")
        yield {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": re.search("<AccessKeyId>([^<]*)", key)[1],
            "AWS_SECRET_ACCESS_KEY": re.search("<SecretAccessKey>([^<]*)", key)[1],
        }
