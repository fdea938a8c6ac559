"""What people and programs read of the judgement."""

import collections
import dataclasses
import textwrap

from judge import verdict

_SHORT = {
    verdict.PASSED: "passed",
    verdict.FAILED: "FAILED",
    verdict.FAILS_TOO: "fails too",
    verdict.NEEDS_OP: "needs op",
    verdict.NOT_APPLICABLE: "n/a",
}


def one_line(text, width=150):
    return textwrap.shorten(" ".join(text.split()), width, placeholder=" …") if text else ""


class ModuleReport:
    """Of one module: a line for each test as it is judged, then what was gathered."""

    def __init__(self):
        self.path = None
        self.tests = []
        self._names = []

    def begin(self, path, names, total):
        self.path = str(path)
        self._names = names
        chosen = f"{len(names)} of {total}" if len(names) != total else str(total)
        print(f"{path}: {chosen} tests", flush=True)

    def list(self):
        print(*self._names, sep="\n", flush=True)

    def tell(self, name, found, attempts):
        self.tests.append(
            {
                "name": name,
                "verdict": found.kind,
                "detail": found.detail,
                "ops": found.ops,
                "attempts": {side: dataclasses.asdict(a) for side, a in attempts.items() if a},
            }
        )
        seconds = sum(a.seconds for a in attempts.values())
        count = f"[{len(self.tests):>{len(str(len(self._names)))}}/{len(self._names)}]"
        line = f"{count} {_SHORT[found.kind]:<9} {seconds:6.2f} s  {name}"
        print(f"{line}  {one_line(found.detail, 110)}".rstrip(), flush=True)

    def as_json(self):
        return {"file": self.path, "tests": self.tests}


def counts(tests):
    found = collections.Counter(test["verdict"] for test in tests)
    return {kind: found[kind] for kind in verdict.ALL}


def print_summary(modules, refused):
    tests = [test for module in modules for test in module["tests"]]
    _print_failures(modules)
    _print_ops(tests)
    _print_table(modules, tests)
    for path, reason in refused:
        print(f"\nNOT LOADED: {path}\n  {reason}")


def _print_failures(modules):
    for module in modules:
        for test in module["tests"]:
            if test["verdict"] != verdict.FAILED:
                continue
            print(f"\nFAILED BY US: {module['file']} {test['name']}")
            ours = test["attempts"]["millrace"]
            theirs = test["attempts"].get("tensorflow")
            print(textwrap.indent(test["detail"], "  on Millrace: ", lambda line: True))
            if theirs:
                print(f"  on TensorFlow: {theirs['outcome']}")
            if ours["trace"]:
                lines = ours["trace"].rstrip().split("\n")[-12:]
                print(textwrap.indent("\n".join(lines), "    | "))


def _print_ops(tests):
    wanting = collections.Counter(op for test in tests for op in test["ops"])
    if wanting:
        print("\nOps that we lack, by the number of tests that need them:")
        text = ", ".join(f"{op} {count}" for op, count in wanting.most_common())
        print(textwrap.fill(text, 110, initial_indent="  ", subsequent_indent="  "))


def _print_table(modules, tests):
    rows = [(module["file"].rsplit("/", 1)[-1], counts(module["tests"])) for module in modules]
    if len(rows) > 1:
        rows.append(("all", counts(tests)))
    width = max([len(name) for name, _ in rows] or [0])
    print(f"\n{'':{width}}" + "".join(f"{_SHORT[kind]:>11}" for kind in verdict.ALL))
    for name, found in rows:
        print(f"{name:{width}}" + "".join(f"{found[kind]:>11}" for kind in verdict.ALL))
    kinds = [f"{_SHORT[k]}: {k}" for k in verdict.ALL if _SHORT[k].lower() != k]
    print("; ".join(kinds))
