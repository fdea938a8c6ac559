"""Tasks of both kinds for a benchmark: the clusters of the interop tests."""

import sys

import interpreters

sys.path.append(str(interpreters.ROOT / "tests" / "interop"))

from tasks import Cluster, Zygote  # noqa: E402


class Servers:
    """A cluster of so many workers of each kind, serving until the end of the `with` block."""

    def __init__(self, folder, zygote, count):
        self._clusters = {}
        for kind in ("tensorflow", "millrace") if count else ():
            place = folder / kind
            place.mkdir(parents=True)
            names = [f"worker:{i}" for i in range(count)] if kind == "tensorflow" else ()
            self._clusters[kind] = Cluster(place, {"worker": count}, names, zygote)

    def __enter__(self):
        try:
            for cluster in self._clusters.values():
                cluster.start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for cluster in self._clusters.values():
            cluster.stop()

    def tasks(self, kind):
        """{"worker:0": (address, pid)}; empty for a program that needs none."""
        if kind not in self._clusters:
            return {}
        cluster = self._clusters[kind]
        return {name: (cluster.addresses[name], cluster.tasks[name].pid) for name in cluster.tasks}


def zygote(folder):
    folder.mkdir(parents=True)
    log = (folder / "zygote.log").open("wb")
    return Zygote(folder, python=interpreters.python("tensorflow"), stderr=log)
