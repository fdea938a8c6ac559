"""Counts the words of a text as a user of PySpark, Dask or Ray would: what mapreduce_bench.py measures beside ours.

usage: words_of_peers.py rdd|frames|dask|ray TEXT FOLDER

All but `frames`, which is Spark's own engine on the JVM, have a mapper in Python, and all use as many processors as there
are. FOLDER is made, with lines of a word and its count.
"""

import os
import pathlib
import sys

THREADS = os.cpu_count()
PIECE = 32 << 20  # bytes that one task reads


def spark_session():
    from pyspark.sql import SparkSession

    made = SparkSession.builder.master(f"local[{THREADS}]").config("spark.ui.enabled", False)
    session = made.config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def rdd(text, folder):
    pairs = (
        spark_session().sparkContext.textFile(text).flatMap(str.split).map(lambda word: (word, 1))
    )
    counts = pairs.reduceByKey(lambda a, b: a + b)
    counts.map(lambda pair: f"{pair[0]}\t{pair[1]}").saveAsTextFile(folder)


def frames(text, folder):
    from pyspark.sql.functions import explode, split

    lines = spark_session().read.text(text)
    words = lines.select(explode(split(lines.value, " ")).alias("word"))
    words.groupBy("word").count().write.csv(folder, sep="\t")


def dask(text, folder):
    import dask
    from dask import bag

    with dask.config.set(scheduler="processes", num_workers=THREADS):
        counts = bag.read_text(text, blocksize=PIECE).map(str.split).flatten().frequencies()
        counts.map(lambda pair: f"{pair[0]}\t{pair[1]}").to_textfiles(folder)


def ray(text, folder):
    import ray

    ray.init(num_cpus=THREADS, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    @ray.remote
    def counted(begin):
        """The words of the lines that begin in a piece."""
        counts = {}
        with open(text, "rb") as file:
            if begin > 0:
                file.seek(begin - 1)
                file.readline()
            while file.tell() < begin + PIECE and (line := file.readline()):
                for word in line.decode().split():
                    counts[word] = counts.get(word, 0) + 1
        return counts

    total = {}
    waiting = [counted.remote(begin) for begin in range(0, os.path.getsize(text), PIECE)]
    while waiting:
        ready, waiting = ray.wait(waiting)
        for word, count in ray.get(ready[0]).items():
            total[word] = total.get(word, 0) + count
    pathlib.Path(folder).mkdir()
    lines = (f"{word}\t{count}\n" for word, count in total.items())
    pathlib.Path(folder, "counts").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    {"rdd": rdd, "frames": frames, "dask": dask, "ray": ray}[sys.argv[1]](*sys.argv[2:])
