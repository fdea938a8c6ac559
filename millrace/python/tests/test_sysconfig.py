"""tf.sysconfig: what a compiler is told of Millrace."""

import pytest

import millrace as tf
from millrace import sysconfig
from millrace._files import installed


@pytest.fixture
def prefix(tmp_path):
    """An installation as cmake makes it, with no headers yet."""
    (tmp_path / "lib/python3/dist-packages/millrace").mkdir(parents=True)
    (tmp_path / "lib/x86_64-linux-gnu").mkdir()
    (tmp_path / "lib/x86_64-linux-gnu/libmillrace_graph.a").touch()
    return tmp_path


def test_headers_and_libraries_are_found_where_they_are_installed(prefix, monkeypatch):
    (prefix / "include/millrace/graph").mkdir(parents=True)
    (prefix / "include/millrace/graph/graph.h").touch()
    package = prefix / "lib/python3/dist-packages/millrace"
    assert installed.headers_folder(package) == str(prefix / "include")
    assert installed.libraries_folder(package) == str(prefix / "lib/x86_64-linux-gnu")
    monkeypatch.setattr(sysconfig, "get_include", lambda: installed.headers_folder(package))
    assert tf.sysconfig.get_compile_flags() == [
        f"-I{prefix}/include",
        "-D_GLIBCXX_USE_CXX11_ABI=1",
        "-std=c++20",
    ]


def test_who_has_no_headers_is_told_where_they_are(prefix):
    package = prefix / "lib/python3/dist-packages/millrace"
    for find in (installed.headers_folder, installed.libraries_folder):
        with pytest.raises(FileNotFoundError, match="headers.*libmillrace-dev.*find_package"):
            find(package)


def test_functions_of_the_module_are_those():
    assert tf.sysconfig.get_include is installed.headers_folder
    assert tf.sysconfig.get_lib is installed.libraries_folder
    assert tf.CXX11_ABI_FLAG == 1 and tf.MONOLITHIC_BUILD == tf.sysconfig.MONOLITHIC_BUILD == 1


def test_linking_is_left_to_cmake():
    with pytest.raises(NotImplementedError, match="Millrace::millrace"):
        tf.sysconfig.get_link_flags()
