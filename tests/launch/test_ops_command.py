"""`millrace ops` tells what the ops are that graphs are made of."""

import subprocess

import pytest


def told(*words):
    return subprocess.run(["millrace", "ops", *words], capture_output=True, text=True, timeout=60)


def test_of_a_named_op_all_is_told():
    answer = told("MatMul", "Shape")
    assert answer.returncode == 0, answer.stderr
    product, shape = answer.stdout.split("\n\nShape ")
    assert product.startswith("MatMul (math)\n")
    assert "transpose_a: bool = false" in product
    assert "gradient   yes" in product
    assert "gradient   no: " in shape


def test_every_op_is_listed_with_whether_gradients_flow():
    lines = told().stdout.splitlines()
    assert len(lines) > 900
    kinds = {line.split()[0]: line.split()[1] for line in lines}
    assert kinds["Conv2D"] == "gradient"
    assert kinds["Shape"] == "-"


def test_a_room_can_be_asked_for():
    names = [line.split()[0] for line in told("--room", "ctc").stdout.splitlines()]
    assert "CTCLoss" in names
    assert "MatMul" not in names


def test_the_page_has_a_row_for_every_op():
    page = told("--markdown").stdout
    rows = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    headings = page.count("\n## ")
    assert len(rows) - headings == len(told().stdout.splitlines())
    assert [row for row in rows if row.startswith("| Switch ") and "yes, with the loop" in row]
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows)


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["MatMull"], "there is no op 'MatMull'"),
        (["MatMull"], "near it are MatMul"),
        (["MatMul", "--room", "ctc"], "there is no op 'MatMul' among the"),
        (["--room", "maths"], "there is no room 'maths'"),
    ],
)
def test_what_is_not_there_is_said(words, complaint):
    answer = told(*words)
    assert answer.returncode == 2
    assert complaint in answer.stderr
