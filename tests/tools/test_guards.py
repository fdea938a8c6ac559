"""tools/floors on small trees: what else it guards. Each fault is found, named with its place, and
nothing else is."""

import pytest


def room(name, sources, depends="", tests="", test_depends=""):
    return (
        f"millrace_room({name}\n  SOURCES {sources}\n  DEPENDS {depends}\n"
        f"  TESTS {tests}\n  TEST_DEPENDS {test_depends})\n"
    )


def includes(*paths):
    return "".join(f'#include "millrace/{path}"\n' for path in paths)


# ---- testing/ -----------------------------------------------------------------------------------


def test_what_is_for_tests_is_included_by_tests_only(faults):
    found = faults(
        "floors",
        {
            "millrace/base/testing/lab.h": "",
            "millrace/base/clock.cc": includes("base/testing/lab.h"),
            "millrace/base/clock_test.cc": includes("base/testing/lab.h"),
            "millrace/base/testing/lab.cc": includes("base/testing/lab.h"),
            "tests/simulation/run.cc": includes("base/testing/lab.h"),
            "bench/steps.cc": includes("base/testing/lab.h"),
            "examples/count.cc": includes("base/testing/lab.h"),
        },
    )
    assert [line.split(": ")[0] for line in found] == [
        "examples/count.cc:1",
        "millrace/base/clock.cc:1",
    ]
    assert '"millrace/base/testing/lab.h" is for tests' in found[0]


def test_a_header_that_only_tests_include_belongs_into_testing(faults):
    found = faults(
        "floors",
        {
            "millrace/base/lab.h": "",
            "millrace/base/lab.cc": includes("base/lab.h"),
            "millrace/base/lab_test.cc": includes("base/lab.h"),
            "millrace/base/both.h": "",
            "millrace/base/both_test.cc": includes("base/both.h"),
            "millrace/base/user.cc": includes("base/both.h"),
            "millrace/base/nobodys.h": "",
        },
    )
    assert found == [
        "millrace/base/lab.h:1: only tests include it: it belongs into millrace/base/testing/"
    ]


def test_the_build_takes_the_rooms_from_the_lowest_up(faults):
    listed = "set(MILLRACE_ROOM_FOLDERS\n  base tensor\n  op wire\n  graph)\n"
    assert faults("floors", {"CMakeLists.txt": listed}) == []
    listed = (
        "set(letters array text)\n"
        "list(TRANSFORM letters PREPEND ops/ OUTPUT_VARIABLE families)\n"
        "set(MILLRACE_ROOM_FOLDERS\n  base tensor # lowest\n  graph ${families} ops)\n"
        "if(MILLRACE_PYTHON)\n  list(APPEND MILLRACE_ROOM_FOLDERS python)\nendif()\n"
    )
    assert faults("floors", {"CMakeLists.txt": listed}) == []
    listed = "# Rooms.\nset(MILLRACE_ROOM_FOLDERS\n  base tensor\n  graph op attic)\n"
    assert faults("floors", {"CMakeLists.txt": listed}) == [
        "CMakeLists.txt:2: room attic is not in the floor table in tools/guards/rooms.py",
        "CMakeLists.txt:2: room graph stands before op, which is on a lower floor",
    ]


# ---- depends ------------------------------------------------------------------------------------


def three_rooms(depends, **more):
    return {
        "millrace/base/CMakeLists.txt": room("base", "status.cc"),
        "millrace/tensor/CMakeLists.txt": room("tensor", "tensor.cc"),
        "millrace/op/CMakeLists.txt": room("op", "op.cc", depends, **more),
        "millrace/op/op.h": includes("base/status.h"),
        "millrace/op/op.cc": includes("op/op.h"),
        "millrace/op/other.cc": includes("op/op.h"),
        "millrace/op/op_test.cc": includes("op/op.h", "base/status.h", "tensor/tensor.h"),
    }


def test_a_room_depends_on_what_its_sources_and_headers_include(faults):
    tests = {"tests": "op_test.cc", "test_depends": "tensor"}
    assert faults("depends", three_rooms("base", **tests)) == []


def test_a_dependency_that_is_missing_is_named_with_who_includes_it(faults):
    tests = {"tests": "op_test.cc", "test_depends": "tensor"}
    assert faults("depends", three_rooms("", **tests)) == [
        "millrace/op/CMakeLists.txt:1: DEPENDS lacks base, which millrace/op/op.h includes"
    ]


def test_a_dependency_that_nothing_includes_is_named(faults):
    tests = {"tests": "op_test.cc", "test_depends": ""}
    assert faults("depends", three_rooms("base tensor", **tests)) == [
        "millrace/op/CMakeLists.txt:1: DEPENDS names tensor, which nothing of it includes",
        "millrace/op/CMakeLists.txt:1: TEST_DEPENDS lacks tensor, which millrace/op/op_test.cc includes",
    ]


def test_dependencies_of_tests_are_those_that_only_tests_have(faults):
    tests = {"tests": "op_test.cc", "test_depends": "tensor base"}
    assert faults("depends", three_rooms("base", **tests)) == [
        "millrace/op/CMakeLists.txt:1: TEST_DEPENDS names base, which nothing of it includes"
    ]


def test_programs_link_the_rooms_that_they_include(faults):
    files = three_rooms("base", tests="op_test.cc", test_depends="tensor")
    files |= {
        "millrace/bin/CMakeLists.txt": "set(mains main.cc)  # (\n"
        "add_executable(millrace ${mains})\n"
        "millrace_link_rooms(millrace PRIVATE tensor op)\n",
        "millrace/bin/main.cc": includes("bin/verbs.h", "op/op.h"),
        "millrace/bin/verbs.h": includes("base/status.h"),
    }
    assert faults("depends", files) == [
        "millrace/bin/CMakeLists.txt:3: millrace_link_rooms(millrace) lacks base, "
        "which millrace/bin/verbs.h includes",
        "millrace/bin/CMakeLists.txt:3: millrace_link_rooms(millrace) names tensor, "
        "which nothing of it includes",
    ]


def test_a_module_that_links_its_room_counts_with_it(faults):
    files = three_rooms("base", tests="op_test.cc", test_depends="tensor")
    files["millrace/python/CMakeLists.txt"] = (
        room("python", "graph.cc", "op")
        + "millrace_present(sources module.cc)\npybind11_add_module(_m MODULE ${sources})\n"
        + "target_link_libraries(_m PRIVATE millrace_python Python3::NumPy)\n"
    )
    files["millrace/python/graph.cc"] = includes("op/op.h")
    files["millrace/python/module.cc"] = includes("base/status.h")
    assert faults("depends", files) == [
        "millrace/python/CMakeLists.txt:1: DEPENDS lacks base, which millrace/python/module.cc includes"
    ]


# ---- frontend -----------------------------------------------------------------------------------


def frontend(files):
    return {f"millrace/python/frontend/{name}": text for name, text in files.items()}


def test_modules_import_from_lower_layers(faults):
    modules = {
        "__init__.py": "from millrace._run.session import Session\nfrom millrace import train\n",
        "train.py": "import threading\nfrom millrace._run import session\n",
        "_run/session.py": "from millrace._graph.graph import Graph\nfrom millrace import _millrace\n",
        "_graph/__init__.py": "",
        "_graph/graph.py": "import contextlib\nfrom ._names import claim\n",
        "_graph/_names.py": "",
    }
    assert faults("frontend", frontend(modules)) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "_graph/a.py",
            "from millrace._run.b import B",
            "_graph imports _run.b, which is above it",
        ),
        ("_graph/a.py", "import millrace._run.b", "_graph imports _run.b, which is above it"),
        ("_graph/a.py", "from .._run import b", "_graph imports _run.b, which is above it"),
        (
            "_state/a.py",
            "from millrace._cluster import c",
            "_state imports _cluster.c, which is beside it",
        ),
        ("_ops/a.py", "from millrace import public", "_ops imports public, which is above it"),
        ("public.py", "import millrace as tf", "imports the package millrace itself"),
        ("public.py", "def f():\n    import sys", "imports sys inside a function"),
        (
            "public.py",
            "class A:\n  def f(self):\n    from millrace._run import b",
            "imports b inside",
        ),
    ],
)
def test_a_wrong_import_is_named_with_its_line(faults, file, text, said):
    modules = {"_run/b.py": "", "_cluster/c.py": "", "public.py": "", file: "\n" + text + "\n"}
    found = faults("frontend", frontend(modules))
    assert len(found) == 1
    line = 1 + len(text.split("\n"))
    assert found[0].startswith(f"millrace/python/frontend/{file}:{line}: ")
    assert said in found[0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def f(graph):\n    return graph.inner._sent\n", "_sent"),
        ("class A:\n  def f(self):\n    return self._own + self._other._core\n", "_core"),
    ],
)
def test_a_private_name_of_another_file_is_named_with_its_line(faults, text, name):
    found = faults("frontend", frontend({"_run/a.py": "\n" + text}))
    line = 1 + text.rstrip("\n").count("\n") + 1
    assert found == [
        f"millrace/python/frontend/_run/a.py:{line}: uses {name}, which is private to another file: "
        "give it a name"
    ]


def test_private_names_may_be_used_by_the_file_that_defines_them(faults):
    text = """import sys
class A:
    __slots__ = ("_slot",)
    def __init__(self, other):
        self._kept = other._kept
        self._mixed = self._of_a_mixin + other._slot
    def __eq__(self, other):
        return other._kept == self._kept and sys._getframe(1) and other._as_tensor()
"""
    assert faults("frontend", frontend({"_run/a.py": text})) == []


def test_a_circle_is_named_with_all_its_modules(faults):
    modules = {
        "_graph/a.py": "from millrace._graph import b\n",
        "_graph/b.py": "from millrace._graph.c import C\n",
        "_graph/c.py": "from millrace._graph.a import A\n",
        "_graph/d.py": "from millrace._graph.a import A\n",
    }
    assert faults("frontend", frontend(modules)) == [
        "millrace/python/frontend/_graph/a.py:1: these modules import each other in a circle: "
        "_graph.a, _graph.b, _graph.c"
    ]


# ---- readmes, parts, named files ----------------------------------------------------------------


def test_a_room_without_readme_is_named(house, floors):
    root = house({"millrace/io/files.h": ""})
    (root / "millrace/io/README.md").unlink()
    result = floors(root, "readmes")
    assert result.returncode == 1
    assert "millrace/io/README.md:1: missing" in result.stdout


@pytest.mark.parametrize(("lines", "fits"), [(2, False), (3, True), (10, True), (11, False)])
def test_a_readme_has_three_to_ten_lines(faults, lines, fits):
    found = faults("readmes", {"millrace/io/README.md": "A line.\n" * lines})
    assert (found == []) == fits
    if not fits:
        assert f"millrace/io/README.md:{lines}: has {lines} lines" in found[0]


def test_a_source_has_a_header_of_its_name_or_says_whose_part_it_is(faults):
    found = faults(
        "parts",
        {
            "millrace/base/own.h": "",
            "millrace/base/own.cc": "",
            "millrace/base/part.cc": "// Part of own.h: the hard part.\n",
            "millrace/base/silent.cc": "// Something.\n// Part of own.h: too late.\n",
            "millrace/base/short.cc": "// Part of own.h\n",
            "millrace/base/some_test.cc": "",
            "millrace/base/testing/lab.cc": "",
            "millrace/bin/main.cc": "int main() {}\n",
        },
    )
    assert [line.split(": ")[0] for line in found] == [
        "millrace/base/short.cc:1",
        "millrace/base/silent.cc:1",
    ]


NAMING = {
    "millrace/base/a.h": "// See gone.h.\n",
    "millrace/base/b.cc": 'int x;  /* one\n two: base/gone.cc */ const char* s = "not_prose.h";\n',
    "millrace/base/c.proto": "// docs/gone/page.md tells.\n",
    "millrace/python/frontend/d.py": '"""One.\n\nSee gone.py.\n"""\nx = "not_prose.py"  # tools/gone\n',
    "docs/e.md": "Start with `millrace/gone/` and `gone_*.h`.\n",
    "tools/f": "#!/bin/bash\n# tests/gone\necho not_prose.h\n",
    "CHANGELOG.md": "gone.h is gone.\n",
}


def test_a_file_that_a_comment_or_document_names_exists(faults):
    assert faults("named-files", NAMING) == [
        f"{place}: names '{name}', which does not exist"
        for place, name in [
            ("docs/e.md:1", "millrace/gone/"),
            ("docs/e.md:1", "gone_*.h"),
            ("millrace/base/a.h:1", "gone.h"),
            ("millrace/base/b.cc:2", "base/gone.cc"),
            ("millrace/base/c.proto:1", "docs/gone/page.md"),
            ("millrace/python/frontend/d.py:3", "gone.py"),
            ("millrace/python/frontend/d.py:5", "tools/gone"),
            ("tools/f:2", "tests/gone"),
        ]
    ]


def test_files_that_exist_may_be_named_by_any_ending_of_their_path(faults):
    there = ["millrace/base/gone.h", "millrace/base/gone.cc", "millrace/base/gone_1.h"]
    there += ["docs/gone/page.md", "tools/gone", "tests/gone/gone.py", "millrace/gone/a.h"]
    assert faults("named-files", {**NAMING, **dict.fromkeys(there, "")}) == []


# ---- known faults -------------------------------------------------------------------------------

SILENT = "has no header of its name: begin it with '// Part of <header>.h: <what it does of it>'"


def test_a_known_fault_is_none_and_is_counted(house, floors):
    root = house(
        {
            "millrace/base/silent.cc": "",
            "tools/guards/known_faults.txt": f"# Known.\nmillrace/base/silent.cc:parts: {SILENT}\n",
        }
    )
    result = floors(root, "parts")
    assert result.returncode == 0
    assert result.stdout == "floors: 0 fault(s), 0 warning(s), 1 known fault(s) left\n"


def test_a_known_fault_that_is_mended_must_leave_the_list(faults):
    found = faults(
        "parts",
        {
            "millrace/base/silent.cc": "// Part of a.h: something.\n",
            "tools/guards/known_faults.txt": f"\nmillrace/base/silent.cc:parts: {SILENT}\n",
        },
    )
    assert len(found) == 1
    assert found[0].startswith(
        "tools/guards/known_faults.txt:2: is mended, so take it off the list"
    )


def test_a_check_that_does_not_exist_is_refused(house, floors):
    result = floors(house({}), "flors")
    assert result.returncode == 2
    assert "no check 'flors'" in result.stderr


# ---- host ---------------------------------------------------------------------------------------


def test_what_the_machine_gives_comes_out_of_a_host(faults):
    found = faults(
        "host",
        {
            "millrace/master/step.cc": "// not Clock::real()\nauto now = Clock::real().now();\n",
            "millrace/worker/step.h": "auto now = std::chrono::steady_clock::now();\n",
            "millrace/ops/seed.cc": "auto seed = make_random()->next();\nstd::random_device system;\n",
        },
    )
    assert found == [
        "millrace/master/step.cc:2: Clock::real() is reached for: take it from a Host (base/host.h)",
        "millrace/ops/seed.cc:1: make_random is reached for: take it from a Host (base/host.h)",
        "millrace/ops/seed.cc:2: random_device is reached for: take it from a Host (base/host.h)",
        "millrace/worker/step.h:1: steady_clock::now() is reached for: "
        "take it from a Host (base/host.h)",
    ]


def test_programs_the_runtime_and_tests_may_reach_for_the_machine(faults):
    reached = "auto now = Clock::real().now();\n"
    files = {
        "millrace/base/clock.cc": reached,
        "millrace/bin/main.cc": reached,
        "millrace/session/runtime.cc": reached,
        "millrace/master/step_test.cc": reached,
        "millrace/master/testing/lab.h": reached,
    }
    assert faults("host", files) == []


def test_ops_and_formats_reach_the_disk_through_the_host_alone(faults):
    opened = 'std::ifstream file("/words");\n'
    assert faults(
        "host", {"millrace/ops/tables/text.cc": opened, "millrace/bin/main.cc": opened}
    ) == [
        "millrace/ops/tables/text.cc:1: std::ifstream is reached for: take it from a Host (base/host.h)"
    ]


def test_a_file_that_need_not_reach_for_the_machine_any_more_is_named(faults):
    file = "millrace/ops/loops/philox_blocks.cc"
    assert faults("host", {file: "int seed = 0;\n"}) == [
        f"tools/guards/host.py:1: {file} reaches for nothing any more: take it off the list"
    ]
