"""tf.data.experimental.CsvDataset and make_csv_dataset: rows of files, and columns by their names."""

import gzip

import pytest

import millrace as tf

experimental = tf.data.experimental


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.csv").write_text('id,name,share\n1,"x, y",0.5\n2,,1e3\n')
    (tmp_path / "b.csv").write_text("id,name,share\n3000000000,z,\n")
    return str(tmp_path / "*.csv"), [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


@pytest.fixture
def drained(session):
    def drain(dataset):
        element = dataset.make_one_shot_iterator().get_next()
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(element))
        return found

    return drain


def test_rows_are_tuples_of_fields(drained, files):
    rows = experimental.CsvDataset(files[1], [tf.int64, [""], 0.25], header=True)
    assert drained(rows) == [(1, b"x, y", 0.5), (2, b"", 1000.0), (3000000000, b"z", 0.25)]
    some = experimental.CsvDataset(files[1][0], [tf.float32], header=True, select_cols=[2])
    assert drained(some) == [(0.5,), (1000.0,)]
    named = tf.data.Dataset.list_files(files[0], shuffle=False)
    assert len(drained(experimental.CsvDataset(named, [tf.int64, "", ""], header=True))) == 3


def test_fields_in_quotes_may_have_lines_in_them_and_files_may_be_packed(drained, tmp_path):
    text = 'id,"two\nlines"\r\n1,"a\n""b"""\r\n2,c'
    (tmp_path / "f").write_bytes(gzip.compress(text.encode()))
    name = str(tmp_path / "f")
    rows = experimental.CsvDataset(name, [tf.int32, tf.string], "GZIP", buffer_size=1, header=True)
    assert rows.output_types == (tf.int32, tf.string)
    assert drained(rows) == [(1, b'a\n"b"'), (2, b"c")]
    named = tf.data.Dataset.from_tensors(name)
    rows = experimental.CsvDataset(named, [tf.string], "GZIP", exclude_cols=[0])
    assert drained(rows) == [(b"two\nlines",), (b'a\n"b"',), (b"c",)]
    made = experimental.make_csv_dataset(
        name, 2, compression_type="GZIP", num_epochs=1, shuffle=False
    )
    (group,) = drained(made)
    assert group["id"].tolist() == [1, 2] and group["two\nlines"].tolist() == [b'a\n"b"', b"c"]


def test_a_row_with_an_error_leaves_the_next_one_alone(session, drained, tmp_path):
    (tmp_path / "f").write_text('1,2"3\n4,5\n6\n7,8\n')
    rows = experimental.CsvDataset(str(tmp_path / "f"), [tf.string, tf.string])
    element = rows.make_one_shot_iterator().get_next()
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot have quotes inside"):
        session.run(element)
    assert session.run(element) == (b"4", b"5")
    assert drained(rows.apply(experimental.ignore_errors())) == [(b"4", b"5"), (b"7", b"8")]
    with pytest.raises(tf.errors.InvalidArgumentError, match="buffer_size should be positive"):
        drained(experimental.CsvDataset(str(tmp_path / "f"), [tf.string], buffer_size=0))


def test_a_field_that_must_be_there_fails_the_step(session, files):
    rows = experimental.CsvDataset(files[1], [tf.int64, tf.string, 0.0], header=True)
    element = rows.make_one_shot_iterator().get_next()
    session.run(element)
    with pytest.raises(tf.errors.InvalidArgumentError, match="required"):
        session.run(element)


def test_columns_have_the_names_and_types_of_the_files(drained, files):
    made = experimental.make_csv_dataset(
        files[0], 2, label_name="share", num_epochs=1, shuffle=False
    )
    features, label = made.output_types
    assert features == {"id": tf.int64, "name": tf.string} and label == tf.float32
    (first, shares), (second, rest) = drained(made)
    assert first["id"].tolist() == [1, 2] and first["name"].tolist() == [b"x, y", b""]
    assert shares.tolist() == [0.5, 1000.0] and rest.tolist() == [0.0]
    assert second["id"].tolist() == [3000000000]


def test_some_columns_may_be_wanted_and_types_given(drained, files):
    made = experimental.make_csv_dataset(
        files[1],
        3,
        column_names=["n", "word", "x"],
        column_defaults=[tf.string, tf.float64],
        select_columns=["x", 0],
        num_epochs=1,
        shuffle=False,
        na_value="none",
    )
    assert made.output_types == {"n": tf.string, "x": tf.float64}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field . is required but missing"):
        drained(made)
    made = experimental.make_csv_dataset(
        files[1][0],
        3,
        ["n", "word", "x"],
        [-1.0],
        None,
        [2],
        na_value="1e3",
        num_epochs=1,
        shuffle=False,
    )
    assert drained(made)[0]["x"].tolist() == [0.5, -1.0]


def test_rows_come_in_another_order_and_again(session, files):
    made = experimental.make_csv_dataset(files[0], 3, shuffle_seed=1, select_columns=["id"])
    element = made.make_one_shot_iterator().get_next()
    for _ in range(4):
        assert len(session.run(element)["id"]) == 3
    assert element["id"].shape.as_list() == [3]


def test_what_can_not_be_read_is_said(files, tmp_path):
    make = experimental.make_csv_dataset
    with pytest.raises(ValueError, match="No files match"):
        make(str(tmp_path / "none*"), 1)
    with pytest.raises(ValueError, match="without a header"):
        make(files[0], 1, header=False)
    with pytest.raises(ValueError, match="`label_name`"):
        make(files[0], 1, label_name="nobody")
    with pytest.raises(ValueError, match="no column 'nobody'"):
        make(files[0], 1, select_columns=["nobody"])
    (tmp_path / "c.csv").write_text("other,names\n1,2\n")
    with pytest.raises(ValueError, match="different column names"):
        make(files[0], 1)
    with pytest.raises(ValueError, match="has 2 number of fields. Expected: 3"):
        make(str(tmp_path / "c.csv"), 1, column_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="not supported for probing columns"):
        make(files[0], 1, compression_type="ZLIB")
