"""millrace.mapreduce: map, combine, partition, sort and reduce over files, on a cluster or alone.

    from millrace import mapreduce

    def words(line):
        return [(word, 1) for word in line.split()]

    mapreduce.run("texts/*.txt", words, "counts", reduce=mapreduce.add, combine=mapreduce.add)

Alone it runs as it is; on a cluster as

    millrace run --job files=1 --job map=4 --job reduce=2 --until files -- python3 x.py

With `mapreduce.Queue("made", "counts", task="/job:read/task:0")` as output, results go into a queue that another
task reads, each once. docs/design/mapreduce.md tells what goes where, and what is guaranteed.
"""

from millrace._mapreduce.attempt import MapReduceError, Place, count, place
from millrace._mapreduce.functions import add, collect, tally
from millrace._mapreduce.inputs import Items, Lines, Paths, Records
from millrace._mapreduce.job import Result, run
from millrace._mapreduce.outputs import RecordFiles, TextFiles
from millrace._mapreduce.queue_output import Queue
