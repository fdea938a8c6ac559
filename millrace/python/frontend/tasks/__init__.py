"""millrace.tasks: functions that are called by name, and run by workers that come and go."""

from millrace._tasks.app import App, Signature, Task
from millrace._tasks.calls import STATES
from millrace._tasks.command import main, work
from millrace._tasks.errors import BrokerLost, NoResult, Retry, TaskError, TimeLimitExceeded
from millrace._tasks.results import GroupResult, Result
from millrace._tasks.running import CurrentCall, current
from millrace._tasks.together import Chain, Chord, Group
from millrace._tasks.worker import Worker
