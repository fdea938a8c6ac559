"""A MapReduce job, as a program says it: every task runs the same lines."""

import typing

from millrace._cluster.run_config import RunConfig
from millrace._mapreduce import alone, pieces, shared_queues, tasks
from millrace._mapreduce.queue_output import Queue
from millrace._state.leased import LONGEST_LEASE


class Result(typing.NamedTuple):
    """What a job has made.

    Attributes:
      counters: {name: int}: "records read", "pairs mapped", "keys reduced", "records written", "bad records",
        "spills", and what the program counts.
      files: the paths of the output's files, one per partition; none if the results went into a queue.
    """

    counters: dict
    files: list


def show(line):
    """Prints a line at once."""
    print(line, flush=True)


def run(
    input,
    map,
    output,
    reduce=None,
    combine=None,
    partition=None,
    partitions=None,
    max_bad=0,
    memory=256 << 20,
    spill=None,
    lease=30.0,
    attempts=20,
    backups=10.0,
    name="mapreduce",
    say=show,
    pause=5.0,
):
    """Makes a job, as the task that this process is.

    What the task does follows from TF_CONFIG: one task of job `files` divides the input and publishes the output,
    tasks of `map` and `reduce`, or of `worker`, do the work. Without a cluster this process does it all. Folders of
    input and output are such as all tasks see.

        run("texts/*.txt", lambda line: [(word, 1) for word in line.split()], "counts", reduce=add, combine=add)
        run("texts/*.txt", str.split, "counts", reduce=tally)  # the same

    Args:
      input: a path, a glob or a list of them, of text files; or Lines, Paths, Items, Records.
      map: a function of a record (a line, str) that gives pairs (key, value), as a list or a generator; None
        for none; keys alone if `reduce` is `tally`. Keys are None, bool, int, float, bytes, str and tuples of them; values what pickle takes.
      output: a folder for text files, or TextFiles, or RecordFiles. It appears when the job is done, and not before.
        Or a Queue, into which each result is put once.
      reduce: a function of a key and an iterator of its values that gives one value, or None for none; a
        generator gives any number. Without it the pairs are written as they are, sorted by key.
      combine: a function of a key and a list of some of its values that gives one in their place, before
        they travel; any number of times.
      partition: a function of a key and the number of partitions that gives 0 to that number - 1. By default
        keys are spread evenly.
      partitions: how many files the output has; by default as many as there are reducers.
      max_bad: how many records may be bad: not readable, or such that `map` raises. They are put aside, in
        _rejected.jsonl of the output. One more ends the job.
      memory: how many bytes of pairs a mapper holds; beyond that they are sorted on disk. A reducer that has
        less to read than that sorts it in memory.
      spill: the folder for that, on each machine's own disk; by default that of temporary files.
      lease: for how many seconds a task may be silent before another gets what it has.
      attempts: how often one piece of work is begun; then the job fails. A task that is killed costs one.
      backups: when nothing has been left to take for that many seconds, and for twice as long as any piece took,
        what is still at work is given to another task as well; None for never.
      name: of the job, if the program makes several in one process.
      say: a function that is given lines about the progress; None for silence.
      pause: seconds between such lines.

    Returns:
      a Result on the task that publishes; None on others.

    Raises:
      MapReduceError: on the task that publishes, if the job can't be done; nothing is published then.
      TypeError, ValueError: for arguments and clusters that make no sense.
    """
    words = pieces.Words(
        input, map, output, reduce, combine, partition, partitions, max_bad, memory, spill
    )
    if isinstance(lease, bool) or not 0 < lease <= LONGEST_LEASE:
        raise ValueError(f"lease is {lease!r}; it must be seconds, more than 0")
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise ValueError(f"attempts is {attempts!r}; it must be an int, at least 1")
    if backups is not None and not 0 <= backups <= LONGEST_LEASE:
        raise ValueError(f"backups is {backups!r}; it must be seconds, or None")
    config = RunConfig()
    if not config.cluster_spec.jobs:
        return Result(*alone.run(words, say, pause))
    shared_queues.check_cluster(config, words.output)
    config, server = shared_queues.served()
    shared = shared_queues.Shared(name, lease, attempts)
    far = None
    if isinstance(words.output, Queue):
        far = shared_queues.Shared(name, lease, attempts, words.output)
    if config.task_type == shared_queues.OWNER:
        owner = tasks.Owner(words, shared, far, config, server, attempts, backups, say, pause)
        return Result(*owner.run())
    tasks.work(words, shared, far, config, server, say or str)
    return None
