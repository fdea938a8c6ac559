"""python3 -m millrace.tasks: the calls on a broker, and workers for them."""

from millrace._tasks.command import main

raise SystemExit(main(None))
