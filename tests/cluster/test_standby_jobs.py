"""`witness` and `stands_by_for` of a job file: a task that is lost for good is followed by another one of the job."""

import subprocess

from bounds import DEADLINE
from started_tasks import millrace_command

JOB = """
command: millrace serve
roles:
  keeper: 1
  ps: {{count: 1, command: [sh, -c, 'echo $$ > {folder}/ps.pid; exec millrace serve'], may_lose: 1}}
  spare: {{count: 1, stands_by_for: ps}}
  worker: {{count: 1, command: [python3, {folder}/work.py]}}
state: {folder}/state
witness: /job:keeper/task:0
env: {{MILLRACE_LOG: info}}
"""

WORK = """
import json, os, pathlib, re, signal, time
import millrace as tf

keeper = json.loads(os.environ["TF_CONFIG"])["cluster"]["keeper"][0]
with tf.device("/job:ps/task:0"):
    total = tf.Variable(0, name="total")
    add = tf.assign_add(total, 1)
# This task only asks; nobody is to wait for it.
config = tf.ConfigProto(device_filters=["/job:keeper", "/job:ps"])

def run(fetch):
    while True:
        try:
            with tf.Session("grpc://" + keeper, config=config) as session:
                return session.run(fetch)
        except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError):
            time.sleep(0.05)

run(total.initializer)
state = pathlib.Path("{folder}/state")
while not any((state / "spare-0" / "ps-0").glob("journal-*")):
    time.sleep(0.05)
for _ in range(5):
    run(add)
while not re.search(r"owns since \\d+, \\d+ stands by", pathlib.Path("{folder}/said").read_text()):
    time.sleep(0.05)
os.kill(int(pathlib.Path("{folder}/ps.pid").read_text()), signal.SIGKILL)
print("the total is", run(total), flush=True)
"""


def test_a_role_that_stands_by_takes_over_when_the_other_one_is_lost(tmp_path):
    (tmp_path / "job.yaml").write_text(JOB.format(folder=tmp_path))
    (tmp_path / "work.py").write_text(WORK.format(folder=tmp_path))
    said = tmp_path / "said"
    with said.open("wb") as output:
        ended = subprocess.run(
            [millrace_command(), "run", tmp_path / "job.yaml"],
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE,
        )
    assert ended.returncode == 0, said.read_text()
    assert "the total is 5" in said.read_text()
