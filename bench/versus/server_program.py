"""The smallest server program: server_program.py LIBRARY INDEX ADDRESS…, until its input ends."""

import os
import sys

import interpreters

tf = interpreters.load(sys.argv[1])
server = tf.train.Server({"worker": sys.argv[3:]}, job_name="worker", task_index=int(sys.argv[2]))
sys.stdin.read()
os._exit(0)
