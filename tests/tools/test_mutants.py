"""tools/mutants: which changes it tries, and how it is called. That they are built and run is seen by
hand: it takes a build."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "mutants"


@pytest.fixture(scope="module")
def mutants():
    loader = importlib.machinery.SourceFileLoader("mutants", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    sys.modules["mutants"] = module  # dataclasses look it up
    loader.exec_module(module)
    return module


SOURCE = """\
#include <vector>
namespace millrace {
int count = 3;
struct Point {
  int x = next();
};
Status f(const Node& node) {
  const int size = g();  // if (true) g();
  if (size > 2) return {};
  for (int i = 0; i < size; ++i) h(i);
  if (const auto found = g(); found > 0) {
    total_ += found;
    text.reserve(size);
  } else if (*at == ')')
    ++count;
  while (!done(size)) {
    if (auto* next = g()) break;
    step("if (x) y();");
  }
  MR_TRY(check(node));
  MR_ASSIGN(auto made, make());
  run([&](int x) { seen.push_back(x); });
  return {};
}
}  // namespace millrace
"""


def test_conditions_are_negated_and_statements_dropped(mutants):
    found = mutants.mutants_of(Path("a.cc"), SOURCE)
    assert sorted((m.line, m.said) for m in found) == sorted(
        [
            (9, "if (!(size > 2))"),
            (10, "without: h(i);"),
            (11, "if (!(found > 0))"),
            (12, "without: total_ += found;"),
            (14, "if (!(*at == ')'))"),
            (15, "without: ++count;"),
            (16, "while (!(!done(size)))"),
            (17, "without: break;"),
            (18, 'without: step("if (x) y();");'),
            (20, "without: MR_TRY(check(node));"),
            (22, "without: run([&](int x) { seen.push_back(x); });"),
            (22, "without: seen.push_back(x);"),
        ]
    )


def test_a_mutant_differs_from_its_source_in_that_place_only(mutants):
    for mutant in mutants.mutants_of(Path("a.cc"), SOURCE):
        changed = SOURCE[: mutant.start] + mutant.text + SOURCE[mutant.end :]
        assert changed != SOURCE
        kept = [line for line in changed.splitlines() if line in SOURCE.splitlines()]
        assert len(kept) >= len(SOURCE.splitlines()) - 1


def test_a_seed_chooses_one_sample(mutants):
    once, number = mutants.sample_of("master", 5, "7")
    again, _ = mutants.sample_of("master", 5, "7")
    other, _ = mutants.sample_of("master", 5, "8")
    assert [m for m, _ in once] == [m for m, _ in again] != [m for m, _ in other]
    assert len(once) == 5 < number


def test_every_room_has_mutants(mutants):
    for room in mutants.ROOMS:
        assert mutants.sample_of(room, 1, "1")[1] >= 10, room


def test_a_room_that_is_not_pure_is_refused():
    result = subprocess.run([sys.executable, TOOL, "session"], capture_output=True, text=True)
    assert result.returncode == 2
    assert "there is no room 'session'" in result.stderr
