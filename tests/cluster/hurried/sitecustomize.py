"""Makes the seed's program quick, without a change to it: while this folder is on the path it sleeps a tenth.

Its sleeps also leave time for others, which must not hinge on how long they are: a mapper counts a file (and
then sleeps 5 s) no earlier than the reduce task has a total (and sleeps 2 s after it printed that).

HURRIED_MARK: a file that is there once there is a total. HURRIED_DEATH: a mapper's first attempt kills
itself when it has a name and has not counted it.
"""

import os
import signal
import time

_sleep = time.sleep


def sleep(seconds):
    mark = os.environ.get("HURRIED_MARK")
    if mark and seconds == 2:
        open(mark, "w").close()
    if mark and seconds == 5:
        end = time.monotonic() + 60
        while not os.path.exists(mark) and time.monotonic() < end:
            _sleep(0.02)
        if os.environ.get("HURRIED_DEATH") and os.environ["MILLRACE_ATTEMPT"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
    _sleep(seconds / 10)


time.sleep = sleep
