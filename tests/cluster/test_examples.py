"""The examples, run as their first lines say: each gets somewhere, and leaves nobody behind.

Those in C++ are the twins of those in Python, and print the same numbers where seeds allow.
"""

import difflib
import re
import subprocess

import pytest

from bounds import DEADLINE, ROOT

FOLDER = ROOT / "examples"


def example(name):
    return FOLDER / f"{name}.py"


def twin(name):
    """The program that examples/<name>.cc has been built to."""
    program = ROOT / "build" / "bin" / name
    if not program.exists():
        pytest.skip(f"{program} is missing: build the examples (make build)")
    return program


def run_alone(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def numbers(output, before):
    return [float(n) for n in re.findall(rf"{before} (-?[\d.]+)", output)]


def test_every_example_is_run_here():
    own = (ROOT / "tests" / "cluster" / "test_examples.py").read_text()
    for path in [*FOLDER.glob("[0-9]*.py"), *FOLDER.glob("[0-9]*.cc")]:
        assert f'"{path.stem}"' in own, path.name
        assert len(path.read_text().splitlines()) <= 75, f"{path.name} is more than a screen"
        assert example(path.stem).exists(), f"{path.name} has no twin in Python"


@pytest.mark.parametrize("name", ["01_linear_regression", "02_digits"])
def test_both_languages_print_the_same_numbers(python, name):
    assert run_alone(twin(name)) == run_alone(python, example(name))


def test_the_line_is_found(python):
    assert "y = 2.000 x + -1.000" in run_alone(python, example("01_linear_regression"))


def test_digits_are_told_apart(python):
    (reached,) = numbers(run_alone(python, example("02_digits")), "accuracy")
    assert reached > 0.85


def test_on_a_cluster_one_line_is_different():
    def statements(path):
        text = path.read_text()
        code = text.split('"""', 2)[2] if path.suffix == ".py" else text.partition("#include")[2]
        return [line for line in code.splitlines() if line and not line.startswith("import")]

    for suffix in (".py", ".cc"):
        alone = statements(FOLDER / f"02_digits{suffix}")
        cluster = statements(FOLDER / f"03_digits_on_a_cluster{suffix}")
        changed = [line for line in difflib.ndiff(alone, cluster) if line[0] in "+-"]
        assert len(changed) == 2, changed


def command(python, name, language):
    return [python, example(name)] if language == "python" else [twin(name)]


@pytest.mark.parametrize("name", ["03_digits_on_a_cluster", "04_sync_replicas"])
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_workers_reach_what_one_process_reaches(launch, python, name, language):
    done = launch(["--job", "ps=1", "--job", "worker=2"], command(python, name, language))
    assert done.code == 0, done.output
    reached = numbers(done.output, "accuracy")
    assert len(reached) == 2 and min(reached) > 0.8, done.output


def test_towers_share_each_batch_and_both_languages_agree(launch, python):
    job = ["--job", "chief=1", "--job", "tower=2"]
    losses = {}
    for language in ("python", "cpp"):
        done = launch(job, command(python, "05_towers", language))
        assert done.code == 0, done.output
        losses[language] = numbers(done.output, "loss")
    assert losses["cpp"] == losses["python"]
    assert len(losses["cpp"]) == 3 and losses["cpp"][-1] < 1.0, losses


def test_replicas_that_all_reduce_end_equal_in_both_languages(launch, python):
    all_reached = []
    for language in ("python", "cpp"):
        done = launch(["--job", "worker=3"], command(python, "06_all_reduce", language))
        assert done.code == 0, done.output
        reached = numbers(done.output, "accuracy")
        assert len(reached) == 3 and reached[0] > 0.8, done.output
        all_reached += reached
    assert len(set(all_reached)) == 1, all_reached


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_a_table_lies_on_two_ps(launch, python, language):
    program = command(python, "07_sharded_embedding", language)
    done = launch(["--job", "ps=2", "--job", "worker=1"], program)
    assert done.code == 0, done.output
    assert re.search(r"users: rows .150, ?8. on /job:ps/task:1", done.output), done.output
    assert numbers(done.output, "loss")[-1] < 0.4, done.output


def run_in(language, python, name):
    return run_alone(*command(python, name, language))


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_the_text_goes_on(python, language):
    output = run_in(language, python, "08_lstm_text")
    assert numbers(output, "loss")[-1] < 0.3
    *words, _cut = re.search(r"^the river .*", output, re.MULTILINE).group().split()
    assert len(words) > 8
    assert set(words) <= set("the river turns wheel, wheel stone, stone grinds corn.".split())


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_words_of_a_kind_are_alike(python, language):
    output = run_in(language, python, "09_word2vec")
    animals, fruits = {"cat", "dog", "horse", "cow"}, {"apple", "pear", "plum", "cherry"}
    assert set(re.search(r"cat: (.*)", output).group(1).split()) <= animals, output
    assert set(re.search(r"apple: (.*)", output).group(1).split()) <= fruits, output


def test_late_trips_are_foretold(python):
    output = run_alone(python, example("11_wide_and_deep"))
    (baseline,), (reached,) = (numbers(output, name) for name in ("accuracy_baseline", "accuracy"))
    assert reached > 0.9 > baseline, output
    at_eight, at_noon = (int(share) for share in re.findall(r"late with (\d+)%", output))
    assert at_eight > 90 and at_noon < 10, output


MAPREDUCE = ["--job", "files=1", "--job", "map=2", "--job", "reduce=2", "--until", "files"]


def lines_of(folder):
    """All lines of a job's output, in the order of its files."""
    return [
        line for path in sorted(folder.glob("part-*")) for line in path.read_text().splitlines()
    ]


def statements_of(program):
    """Lines of code: those of a program in C++ without braces and white space alone."""
    text = program.read_text()
    if program.suffix == ".py":
        code = text.split('"""', 2)[2].splitlines()
        return [line for line in code if line and not line.startswith("import sys")]
    return [line for line in text.splitlines() if line.strip("{} ") and not line.startswith("//")]


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_words_are_counted_in_five_lines_on_a_cluster_and_alone(
    launch, python, texts, tmp_path, language
):
    source = FOLDER / f"mapreduce_words.{'py' if language == 'python' else 'cc'}"
    code = [line for line in statements_of(source) if not line.startswith(("#include", "using"))]
    assert len(code) <= 5, code
    program = command(python, "mapreduce_words", language)
    pattern = texts.files[0].parent / "*.txt"
    done = launch(MAPREDUCE, [*program, pattern, tmp_path / "counts"])
    assert done.code == 0, done.output
    run_alone(*program, pattern, tmp_path / "alone")
    counted = [line.split("\t") for line in lines_of(tmp_path / "alone")]
    assert sum(int(count) for _, count in counted) == texts.words
    assert sorted(lines_of(tmp_path / "counts")) == lines_of(tmp_path / "alone")


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_counts_go_to_a_task_that_reads_them_out_of_a_queue(launch, python, tmp_path, language):
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(3):
        lines = [f"to be or not {i} {k}\n" for k in range(50) for _ in range(k)]
        (texts / f"{i}.txt").write_text("".join(lines))
    program = command(python, "words_into_queue", language)
    flags = [*MAPREDUCE[:-1], "files,read", "--job", "read=1"]
    done = launch(flags, [*program, texts / "*.txt", tmp_path / "made"])
    assert done.code == 0, done.output
    said = re.findall(r"read:0 +\| (.*)", done.output)[-4:]
    assert said == ["54 words, 22050 in all", "be 3675", "not 3675", "or 3675"], done.output


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("flags", [None, MAPREDUCE], ids=["alone", "cluster"])
def test_both_languages_count_words_into_the_same_files_to_the_byte(
    launch, python, tmp_path, flags
):
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(5):
        odd = "caf\u00e9\u00a0na\u00efve\u2003\u4e16\u754c\r\na\x1cb\x1cc\n\n \t\n"
        (texts / f"{i}.txt").write_bytes((odd + "the mill and the race " * 50 * i).encode())
    made = {}
    for language in ("python", "cpp"):
        program = [*command(python, "mapreduce_words", language), texts / "*.txt"]
        if flags:
            done = launch(flags, [*program, tmp_path / language])
            assert done.code == 0, done.output
        else:
            run_alone(*program, tmp_path / language)
        made[language] = bytes_of(tmp_path / language)
    assert made["cpp"] == made["python"]
    assert len(made["cpp"]) == (3 if flags else 2), made["cpp"].keys()


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_an_index_tells_where_words_are(launch, python, tmp_path, language):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("Stone and stone\nwater\n")
    (folder / "b.txt").write_text("water, stone; caf\u00e9_1\u2014\n")
    program = command(python, "inverted_index", language)
    done = launch(MAPREDUCE, [*program, folder / "*.txt", tmp_path / "index"])
    assert done.code == 0, done.output
    assert sorted(lines_of(tmp_path / "index")) == [
        "and\ta.txt:0",
        "caf\u00e9_1\tb.txt:0",
        "stone\ta.txt:0 b.txt:0",
        "water\ta.txt:16 b.txt:0",
    ]


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_lines_are_found_by_all_tasks(launch, python, tmp_path, language):
    for name in "ab":
        text = "".join(f"{'ERROR' if i % 10 == 3 else 'fine'} {name}{i}\n" for i in range(40))
        (tmp_path / f"{name}.log").write_bytes(text.encode() + b"ERROR \xff\n")
    (tmp_path / "folder.log").mkdir()
    program = [*command(python, "distributed_grep", language), "ERROR|FATAL", tmp_path / "*.log"]
    done = launch(
        ["--job", "files=1", "--job", "worker=2", "--until", "files"],
        [*program, tmp_path / "found"],
    )
    assert done.code == 0, done.output
    assert "10 lines in" in done.output
    (part,) = (tmp_path / "found").glob("part-*")
    found = part.read_bytes().splitlines()
    assert found[0] == f"{tmp_path}/a.log:24:ERROR a3".encode()
    assert found[4].endswith(b":ERROR \xff") and found[5].endswith(b":ERROR b3"), found
    assert "folder.log" in (tmp_path / "found" / "_rejected.jsonl").read_text()


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_records_are_sorted_over_all_files(launch, python, tmp_path, language):
    program = command(python, "sort_records", language)
    done = launch(MAPREDUCE, [*program, "--megabytes=2", "--memory=1", f"--folder={tmp_path}"])
    assert done.code == 0, done.output
    assert "sorted 20000 records into 2 files" in done.output
    in_order = lines_of(tmp_path / "sorted")
    assert in_order == sorted(lines_of(tmp_path / "unsorted"))
    assert len(in_order) == 20000 and {len(line) for line in in_order} == {99}


WORKERS = ["--job", "files=1", "--job", "worker=2", "--until", "files"]


@pytest.mark.parametrize("flags", [None, WORKERS], ids=["alone", "cluster"])
def test_lines_that_are_alike_are_found_and_both_languages_find_the_same(
    launch, python, tmp_path, flags
):
    kinds = ["rain wind cloud storm", "bread salt butter milk", "wheel stone mill gear"]
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in "ab":
        lines = [
            " ".join(words.split()[(i + k) % 4] for k in range(3)) + f" of day {i}"
            for i in range(30)
            for words in kinds
        ]
        (texts / f"{name}.txt").write_text("\n".join(lines) + "\n")
    said, made = {}, {}
    for language in ("python", "cpp"):
        folder = tmp_path / language
        program = command(python, "kmeans_text", language)
        program += [texts / "*.txt", folder, 3, 4]
        if flags:
            done = launch(flags, program)
            assert done.code == 0, done.output
            output = done.output
        else:
            output = run_alone(*map(str, program))
        said[language] = re.findall(r"(\d): (\w+ \w+ \w+ of day \d+)", output)
        made[language] = {each.name: bytes_of(each) for each in folder.iterdir()}
    assert made["cpp"] == made["python"]
    assert set(made["cpp"]) == {f"round-{i}" for i in range(4)}
    assert said["cpp"] == said["python"]
    # Three lines of a kind each, three times, and one more.
    centres = [centre for centre, _ in said["cpp"]]
    assert len(set(centres[:3])) == 3 and centres == centres[:3] * 3 + centres[:1], said


@pytest.mark.parametrize("language", ["python", "C++"])
def test_tasks_that_are_started_by_hand_train_together(cluster, python, tmp_path, language):
    tasks = cluster(ps=1, worker=2)
    flags = [f"--{job}_hosts={','.join(tasks.spec[job])}" for job in ("ps", "worker")]
    folder = [f"--checkpoint_dir={tmp_path}"] if language == "python" else []
    words = [*command(python, "10_mnist_replica", language), *flags, *folder]
    ps, *workers = (
        tasks.start(
            job,
            index,
            [*words, f"--job_name={job}", f"--task_index={index}"],
            MODEL_DIR=str(tmp_path),
        )
        for job, index in [("ps", 0), ("worker", 1), ("worker", 0)]
    )
    for worker in workers:
        assert worker.wait() == 0, worker.output()
        assert "is done" in worker.output()
    assert ps.process.poll() is None
    assert "model.ckpt-3" in (tmp_path / "checkpoint").read_text()


def test_calls_are_run_by_the_workers_of_a_job(launch, python):
    job = ["--job", "broker=1", "--job", "worker=2", "--job", "client=1", "--until", "client"]
    done = launch(job, [python, example("task_queue")])
    assert done.code == 0, done.output
    assert "count: {'the': 2, 'mill': 1, 'and': 1, 'race': 1}" in done.output, done.output
    assert re.search(r"merged: .*\('corn', 2\).*\('the', 4\)", done.output), done.output
    assert "most: the" in done.output, done.output
    assert (
        "failed: AttributeError: 'int' object has no attribute 'split'" in done.output
    ), done.output
