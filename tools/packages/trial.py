"""Installs packages on a Debian that has nothing of ours, and counts words there on four processes."""

import re
import shutil
import tarfile
import time

from packages.refusal import OutOfReach, Refused, run

_TOOLS = ("cc", "g++", "c++", "cmake", "ninja", "protoc")

# What the library of the fast products says it is, once a product has been asked for.
_PRODUCT = """
import millrace as tf
ones = tf.ones([512, 512])
assert tf.Session().run(tf.matmul(ones, ones))[0, 0] == 512
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libdnnl" in line}
print(tf.__version__, *loaded)
"""


class Trial:
    """One root with something installed in it. `say` prints a line of progress."""

    def __init__(self, build, root, say):
        self.build = build
        self.root = root
        self.say = say

    def prove(self, command, python, onednn):
        """Refused unless the command and the module have the version of the build, oneDNN is the one
        at the path that starts with `onednn` ("" if none needs to be found), the Python verbs find
        their interpreter, and a cluster of four counts words right."""
        version = self._ask([command, "--version"], "ask for the version").split()[-1]
        told = self._ask([python, "-c", _PRODUCT], "multiply in Python").split()
        if version != self.build.version or told[0] != self.build.version:
            raise Refused(
                f"the command says {version} and the module {told[0]}: this is {self.build.version}"
            )
        if onednn and not (told[1:] and told[1].startswith(onednn)):
            raise Refused(f"oneDNN was to come from {onednn}; loaded was {told[1:] or 'none'}")
        program = self.root.put(self.build.root / "examples" / "word_count.py", "word_count.py")
        self._ask([command, "check", program], "check a program")
        self._count_words(command, python, program)

    def _count_words(self, command, python, program):
        texts = sorted(self.build.root.glob("docs/*.md"))
        paths = [self.root.put(text, text.name) for text in texts]
        listed = self.build.folder / "texts-of-trial"
        listed.write_text("".join(f"{path}\n" for path in paths))
        expected = sum(len(text.read_text(encoding="utf-8").split()) for text in texts)
        began = time.monotonic()
        said = self._ask(
            [command, "run", "--job", "files=1", "--job", "reduce=1", "--job", "map=2"]
            + ["--until", "map", "--", python, program, "--texts", self.root.put(listed, "texts")],
            "count words on four processes",
        )
        found = re.findall(r"total: (\d+) words", said)
        if found != [str(expected)]:
            raise Refused(f"{found} words were counted, not {expected}; it said:\n{said}")
        took = time.monotonic() - began
        self.say(
            f"{expected} words counted on four processes, as many as there are, in {took:.1f} s"
        )

    def _ask(self, command, what):
        return self.root.run_as_nobody(command, what, timeout=120)


def refuse_tools(root):
    """A clean system has nothing to build with: else what we install might be built there."""
    found = root.run(["sh", "-c", f"command -v {' '.join(_TOOLS)}; true"], "look for build tools")
    if found:
        raise Refused(f"the clean system has {' '.join(found.split())}, which proves less")


def wheels(build, root, made, say):
    """`made` are the wheels. NumPy is what pip finds for them; it is fetched out here, since how pip
    reaches its index is a matter of this machine."""
    environment = root.inside / "environment"
    python = environment / "bin" / "python3"
    fetched = build.folder / "dist-wheels"
    if not list(fetched.glob("numpy-*.whl")):
        say("fetching NumPy for it (18 MB, once)")
        _fetch(build, made[0], fetched)
    for wheel in [*made, *fetched.glob("*.whl")]:
        root.put(wheel, wheel.name)
    root.run(["python3", "-m", "venv", environment], "make a virtual environment")
    say("installing the wheels into a fresh virtual environment")
    root.run(
        [python, "-m", "pip", "install", "--no-index", "--find-links", root.inside]
        + ["millrace[onednn]"],
        "install the wheels",
    )
    found = root.run(
        [python, "-c", "import millrace_onednn as m; print(m.__path__[0])"], "look for oneDNN"
    )
    Trial(build, root, say).prove(environment / "bin" / "millrace", python, found.strip())


def _fetch(build, wheel, folder):
    pip = build.folder / "dist-pip"
    if pip.exists():
        shutil.rmtree(pip)
    run([build.python, "-m", "venv", pip], "make a virtual environment for pip")
    run(
        [pip / "bin" / "pip", "download", "-q", "--only-binary", ":all:", "-d", folder, wheel],
        "fetch NumPy by pip",
        fault=OutOfReach,
    )
    for ours in folder.glob("millrace*"):
        ours.unlink()
    shutil.rmtree(pip)


def debs(build, root, made, say):
    """`made` are the packages in the order of debian.NAMES."""
    command, module, development = [root.put(deb, deb.name) for deb in made]
    say("installing the packages by apt, with what they depend on")
    _apt(root, "update", fault=OutOfReach)
    _apt(root, "install", command, module)
    refuse_tools(root)
    Trial(build, root, say).prove("/usr/bin/millrace", "/usr/bin/python3", "/usr/lib/")
    say("installing the library, a compiler and CMake, and building a program with them")
    _apt(root, "install", "--no-install-recommends", development, "g++", "cmake", "make")
    source = root.put(build.root / "tests" / "install" / "consumer", "consumer")
    for words in (
        ["cmake", "-S", source, "-B", "/tmp/consumer"],
        ["cmake", "--build", "/tmp/consumer"],
        ["/tmp/consumer/consumer"],
    ):
        root.run_as_nobody(words, "build a program with the installed library")
    names = [deb.name.split("_")[0] for deb in made]
    _apt(root, "purge", *names)
    left = root.run(["find", "/usr", "/etc", "/var/lib/dpkg/info", "-iname", "*millrace*"], "look")
    if left:
        raise Refused(f"removing the packages leaves\n{left}")


def _apt(root, *words, **options):
    root.run(
        ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", *words],
        f"apt-get {words[0]} in the clean system",
        timeout=1200,
        **options,
    )


def image(build, root, made, say):
    """`made` has the image; `root` is empty, and becomes what a container of it would see."""
    say("unpacking the image and running in it")
    with tarfile.open(made[0]) as archive:
        for part in archive:
            if part.name.endswith("/layer.tar"):
                with tarfile.open(fileobj=archive.extractfile(part)) as layer:
                    layer.extractall(root.folder)
    Trial(build, root, say).prove("/usr/bin/millrace", "/usr/bin/python3", "/lib/")
