"""tools/floors on small trees: floors, sizes and names. Each fault is found, named with its place, and
nothing else is."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def includes(*paths):
    return "".join(f'#include "{path}"\n' for path in paths)


def test_this_repository_keeps_its_floors(floors):
    result = floors(REPOSITORY)
    assert result.returncode == 0, result.stdout


def test_lower_floors_and_own_room_may_be_included(house, floors):
    root = house(
        {
            "millrace/base/status.h": "",
            "millrace/tensor/tensor.h": includes("millrace/base/status.h"),
            "millrace/master/master.cc": includes(
                "millrace/master/master.h", "millrace/plan/plan.h", "millrace/tensor/tensor.h"
            ),
            "millrace/bin/main.cc": includes("millrace/millrace.h", "millrace/launch/local.h"),
            "tests/story.cc": includes("millrace/bin/main.h", "tests/story.h"),
        }
    )
    result = floors(root, "floors")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "included", "said"),
    [
        ("graph/graph.cc", "millrace/session/session.h", "graph (F2) includes session (F7), above"),
        ("base/status.h", "millrace/tensor/tensor.h", "includes tensor (F0), above"),
        ("master/master.h", "millrace/worker/worker.h", "worker (F5), on the same floor"),
        ("transport/inproc/a.cc", "millrace/transport/grpc/b.h", "on the same floor"),
        ("session/session.cc", "millrace/millrace.h", "includes millrace.h (F8), above"),
        ("python/module.cc", "millrace/bin/main.h", "on the same floor"),
        (
            "master/master.cc",
            "millrace/wire/graph.pb.h",
            "allowed in: wire, io, transport/protocol, transport/grpc",
        ),
        ("plan/plan.cc", "millrace/planning/plan.h", "in no room"),
        ("plan/plan.cc", "tests/story.h", "above all rooms"),
        ("plan/plan.cc", "plan.h", "from the top"),
    ],
)
def test_a_wrong_include_is_named_with_its_line(house, floors, file, included, said):
    result = floors(
        house({f"millrace/{file}": "// One line above.\n" + includes(included)}), "floors"
    )
    assert result.returncode == 1
    assert f"millrace/{file}:2: " in result.stdout
    assert said in result.stdout
    assert "floors: 1 fault(s)" in result.stdout


def test_the_allowed_rooms_are_listed(house, floors):
    result = floors(house({"millrace/op/op.h": includes("millrace/plan/plan.h")}), "floors")
    assert "allowed: base, tensor, format\n" in result.stdout


@pytest.mark.parametrize("room", ["wire", "io", "transport/grpc"])
def test_generated_headers_stay_with_the_protocol(house, floors, room):
    root = house({f"millrace/{room}/codec.cc": includes("millrace/wire/graph.pb.h")})
    assert floors(root, "floors").returncode == 0


def test_long_files_warn_and_very_long_files_fail(house, floors):
    result = floors(
        house({"millrace/base/a.cc": "\n" * 401, "millrace/base/b.cc": "\n" * 801}), "sizes"
    )
    assert result.returncode == 1
    assert "millrace/base/a.cc:401: warning" in result.stdout
    assert "millrace/base/b.cc:801: the hard cap is 800 lines" in result.stdout


def test_a_file_in_no_room_is_named(house, floors):
    result = floors(house({"millrace/misc/a.h": "", "millrace/loose.h": ""}), "floors")
    assert result.returncode == 1
    assert "millrace/misc/a.h:1: is in no room" in result.stdout
    assert "millrace/loose.h:1: is in no room" in result.stdout


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("class SessionManager {", "SessionManager"),
        ("struct [[nodiscard]] PathHelper;", "PathHelper"),
        ("enum class CommonCode {", "CommonCode"),
        ("using GraphUtils = int;", "GraphUtils"),
        ("template <typename T> class MR_SCOPED ShapeUtil final {", "ShapeUtil"),
    ],
)
def test_a_type_named_after_a_drawer_is_named(house, floors, line, name):
    result = floors(house({"millrace/base/a.h": line + "\n"}), "names")
    assert result.returncode == 1
    assert f"millrace/base/a.h:1: type '{name}'" in result.stdout


def test_words_that_only_contain_a_banned_one_pass(house, floors):
    root = house({"millrace/base/communique.h": "struct Commonality;\n// a Manager in prose\n"})
    assert floors(root, "names").returncode == 0


def test_no_two_classes_have_one_name(faults):
    found = faults(
        "classes",
        {
            "millrace/base/clock.h": "namespace millrace {\nclass Held;\nclass Held final : public Kept {\n};\n"
            "}  // namespace millrace\n",
            "millrace/op/held.cc": "namespace millrace {\nnamespace {\nstruct Held {\n};\n}  // namespace\n"
            "struct Held {\n};\n}  // namespace millrace\n",
            "millrace/op/other.h": "namespace millrace::wire {\nstruct Held {\n};\n}  // namespace millrace::wire\n"
            "namespace millrace {\n// struct Held {\ntemplate <class T>\nstruct Held {\n};\n"
            "enum class Held {\n};\n}  // namespace millrace\n",
            "millrace/op/held_test.cc": "namespace millrace {\nstruct Held {\n};\n}  // namespace millrace\n",
        },
    )
    assert found == [
        "millrace/op/held.cc:6: millrace::Held is also a class of millrace/base/clock.h: rename one of them"
    ]


def test_a_file_named_after_a_drawer_is_named(house, floors):
    result = floors(house({"millrace/base/string_utils.h": ""}), "names")
    assert result.returncode == 1
    assert "'string_utils.h' is a drawer" in result.stdout
