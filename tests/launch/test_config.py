"""`millrace config`: scripts that a shell can source."""

import json
import subprocess

import pytest

from processes import PATIENCE

PRINT = '. "$0" && printf "%s" "$TF_CONFIG" && [ "$CUDA_VISIBLE_DEVICES" = -1 ]'


@pytest.fixture
def config(millrace, tmp_path):
    def config(*flags):
        return subprocess.run(
            [millrace, "config", *flags],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    return config


def sourced(script):
    done = subprocess.run(["sh", "-c", PRINT, script], capture_output=True, text=True, check=True)
    return done.stdout


def test_one_script_per_task_makes_a_shell_into_it(config, tmp_path):
    done = config("--job", "files=1", "--job", "reduce=1", "--job", "map=2", "--out", "configs")
    assert done.returncode == 0
    cluster = {
        "files": ["localhost:2222"],
        "reduce": ["localhost:2223"],
        "map": ["localhost:2224", "localhost:2225"],
    }
    scripts = sorted(path.name for path in (tmp_path / "configs").iterdir())
    assert scripts == [
        "config_files_0.sh",
        "config_map_0.sh",
        "config_map_1.sh",
        "config_reduce_0.sh",
    ]
    text = sourced(tmp_path / "configs" / "config_map_1.sh")
    told = json.loads(text)
    assert told == {"cluster": cluster, "task": {"type": "map", "index": 1}}
    assert text == json.dumps(told, indent=2)


@pytest.mark.parametrize("flag", ["--cluster", "--cluster-file", "--cluster_file"])
def test_a_cluster_file_may_be_sparse(config, tmp_path, flag):
    (tmp_path / "c.json").write_text('{"ps": ["a:1"], "worker": {"3": "b:1"}}')
    assert config(flag, "c.json").returncode == 0
    told = json.loads(sourced(tmp_path / "config_worker_3.sh"))
    assert told["cluster"] == {"ps": ["a:1"], "worker": {"3": "b:1"}}
    assert told["task"] == {"type": "worker", "index": 3}


@pytest.mark.parametrize(
    "flags, code, told",
    [
        ([], 2, "--job or --cluster"),
        (["--job", "a=1", "--cluster", "c.json"], 2, "excludes"),
        (["--cluster", "c.json"], 1, "can't read 'c.json'"),
        (["--cluster", "bad.json"], 2, "bad.json: $.ps: found the string"),
        (["--job", "a=3", "--ports", "65534"], 2, "65534 to 65536"),
        (["--job", "a=1", "--out", "bad.json/x"], 1, "can't make"),
    ],
)
def test_what_can_not_be_written_is_told(config, tmp_path, flags, code, told):
    (tmp_path / "bad.json").write_text('{"ps": "a:1"}')
    done = config(*flags)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
