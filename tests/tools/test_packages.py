"""tools/dist and what it is made of, without making a package: that takes a minute, and tools/dist --try does it."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from packages import build, bundle, elf, wheel_build
from packages.refusal import Refused, run

TOOLS = Path(__file__).resolve().parents[2] / "tools"

OBJDUMP = """
libouter.so.1:     file format elf64-x86-64

Dynamic Section:
  NEEDED               libinner.so.2
  NEEDED               libc.so.6
  SONAME               libouter.so.1
  RUNPATH              $ORIGIN/../lib:$ORIGIN

Version References:
  required from libc.so.6:
    0x069691b4 0x00 03 GLIBC_2.34
    0x06969185 0x00 02 GLIBC_2.9
  required from libstdc++.so.6:
    0x0297f870 0x00 04 GLIBCXX_3.4.30
"""


def test_what_a_library_asks_for_is_read_from_objdump():
    assert elf.asks_in(OBJDUMP) == elf.Asks(
        "libouter.so.1",
        ("libinner.so.2", "libc.so.6"),
        "$ORIGIN/../lib:$ORIGIN",
        frozenset({"GLIBC_2.34", "GLIBC_2.9", "GLIBCXX_3.4.30"}),
    )


def test_versions_are_compared_as_numbers():
    versions = {"GLIBC_2.9", "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_PRIVATE", "GLIBCXX_3.4.30"}
    assert elf.newest(versions, "GLIBC") == (2, 34)
    assert elf.newest(versions, "CXXABI") == ()


def test_a_library_that_is_not_here_is_refused_by_name():
    said = "\tlibx.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"
    with pytest.raises(Refused, match="millrace needs libx.so.1, which is not there"):
        elf.found_in(said, "millrace")
    found = elf.found_in(said.splitlines()[1] + "\n\t/lib64/ld-linux.so.2 (0x2)\n", "millrace")
    assert set(found) == {"libc.so.6", "/lib64/ld-linux.so.2"}


def test_libraries_are_called_after_their_content():
    name = bundle.own_name("libgrpc++.so.1.51", b"some")
    assert name == "libgrpc++-a6b46dd0.so.1.51"
    assert bundle.own_name("libgrpc++.so.1.51", b"other") != name


@pytest.fixture
def linked(tmp_path):
    """A program that needs libouter, which needs libinner, each in a folder of its own. Only there."""
    there = tmp_path / "system"
    there.mkdir()

    def link(name, code, *words):
        source = tmp_path / "source.c"
        source.write_text(code)
        run(["cc", source, "-o", there / name, f"-L{there}", f"-Wl,-rpath,{there}", *words], "link")

    def shared(name):
        return ["-shared", "-fPIC", f"-Wl,-soname,{name}.1"]

    link("libinner.so.1", "int inner(void) { return 20; }", *shared("libinner.so"))
    (there / "libinner.so").symlink_to("libinner.so.1")
    code = "int inner(void); int outer(void) { return inner() + 1; }"
    link("libouter.so.1", code, *shared("libouter.so"), "-linner")
    (there / "libouter.so").symlink_to("libouter.so.1")
    link("program", "int outer(void); int main() { return outer() + 1; }", "-louter")
    return there


@pytest.mark.skipif(not shutil.which("patchelf"), reason="no patchelf: tools/setup dist brings it")
def test_a_bundled_program_runs_where_its_libraries_are_not(linked, tmp_path):
    placed = tmp_path / "placed" / "bin" / "program"
    placed.parent.mkdir(parents=True)
    shutil.copy(linked / "program", placed)
    carried = tmp_path / "placed" / "lib"
    sources = bundle.bundle(
        [bundle.Program(placed, ("../nowhere", "../lib"))], [], carried, beside=("../more",)
    )
    assert set(sources) == {"libinner.so.1", "libouter.so.1"}
    files = [placed, *carried.iterdir()]
    # For what they load by name.
    assert {elf.asks_of(file).found_by for file in files[1:]} == {"$ORIGIN:$ORIGIN/../more"}
    outside, versions = bundle.demands(files)
    assert outside <= bundle.GLIBC and elf.newest(versions, "GLIBC") > (2, 0)
    shutil.rmtree(linked)
    (tmp_path / "placed").rename(tmp_path / "moved")
    assert subprocess.run([tmp_path / "moved" / "bin" / "program"]).returncode == 22


def test_files_that_would_need_more_of_a_system_than_all_have_are_refused(linked):
    with pytest.raises(Refused, match="libouter.so.1 would need libinner.so.1 of the system"):
        bundle.demands([linked / "program", linked / "libouter.so.1"])


def test_a_cache_of_cmake_is_read_with_its_odd_names():
    said = build.variables_in(
        "# This is the CMakeCache file.\n//A comment: here:X=1\nMILLRACE_SANITIZE:STRING=\n"
        "MILLRACE_HAS_oneapi/dnnl/dnnl.h:PATH=/usr/include\nCMAKE_PROJECT_VERSION:STATIC=0.1.0\n"
        'CMAKE_PROJECT_DESCRIPTION:STATIC=Runs: a = b\n"ODD:NAME":INTERNAL=1\n'
    )
    assert said["MILLRACE_HAS_oneapi/dnnl/dnnl.h"] == "/usr/include"
    assert said["CMAKE_PROJECT_VERSION"] == "0.1.0"
    assert said["CMAKE_PROJECT_DESCRIPTION"] == "Runs: a = b"
    assert said["MILLRACE_SANITIZE"] == ""


def test_without_a_build_it_says_what_to_run(tmp_path):
    with pytest.raises(Refused, match="no build/CMakeCache.txt: run `make build` first"):
        build.find(tmp_path)


def test_the_module_takes_the_numpy_that_it_was_built_beside_or_a_later_one_of_its_abi():
    assert wheel_build.numpy_range("1.24.2") == ("1.24", "2")


@pytest.fixture(scope="module")
def built():
    command = shutil.which("millrace")
    if command is None:
        pytest.fail("no millrace on the PATH; source build/env.sh")
    return build.find(Path(command).resolve().parents[2])


def test_all_of_the_package_is_installed_and_none_of_it_is_a_link(built, tmp_path):
    built.stage(tmp_path / "prefix", "python")
    installed = tmp_path / "prefix" / build.PYTHON_DIR / "millrace"
    files = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    package = built.folder / "python" / "millrace"
    wanted = {
        path.relative_to(package)
        for path in package.rglob("*")
        if path.exists() and path.suffix in (".py", ".names", ".so")
    }
    assert files == wanted
    assert not [path for path in installed.rglob("*") if path.is_symlink()]


def test_a_time_that_is_no_number_is_refused(built, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(Refused, match="SOURCE_DATE_EPOCH='today' is no number of seconds"):
        build.find(built.root)


def test_the_command_and_the_module_have_the_version_of_the_project(built):
    said = subprocess.run([built.folder / "bin" / "millrace", "--version"], capture_output=True)
    assert said.stdout.decode() == f"millrace {built.version}\n"
    import millrace

    assert millrace.__version__ == built.version


def test_dist_tells_how_it_is_called():
    def dist(*words):
        done = subprocess.run([TOOLS / "dist", *words], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, said = dist("--help")
    assert code == 0 and "Exit codes: 0" in said and "--try" in said
    code, said = dist("rpm")
    assert code == 2 and "no kind of package 'rpm'; there are: wheel, deb, image" in said


def test_an_image_is_compressed_if_it_is_called_so_and_always_the_same(tmp_path):
    text = tmp_path / "text"
    text.write_text("one two\n")

    def image(name):
        run(
            [sys.executable, TOOLS / "image", "--tag", "words:1", "--output", tmp_path / name]
            + [f"{text}=/texts/text"],
            "pack an image",
        )
        return (tmp_path / name).read_bytes()

    image("a.tar")
    compressed = image("b.tar.gz")
    os.utime(text, (1, 1))
    assert image("b.tar.gz") == compressed
    with tarfile.open(tmp_path / "a.tar", "r:") as plain:
        names = plain.getnames()
    with tarfile.open(tmp_path / "b.tar.gz", "r:gz") as small:
        assert small.getnames() == names


def test_a_library_that_is_given_is_in_an_image_where_it_was_to_be_and_nowhere_else(
    linked, tmp_path
):
    given = [f"{linked}/program=/usr/bin/program", f"{linked}/libouter.so.1=/usr/lib/libouter.so.1"]
    made = tmp_path / "made.tar"
    run([TOOLS / "image", "--tag", "words:1", "--output", made, *given], "pack an image")
    with tarfile.open(made) as image:
        [layer] = [name for name in image.getnames() if name.endswith("layer.tar")]
        with tarfile.open(fileobj=image.extractfile(layer)) as files:
            libraries = {name for name in files.getnames() if "libouter" in name or "inner" in name}
    assert libraries == {"usr/lib/libouter.so.1", f"{linked}/libinner.so.1".lstrip("/")}
