"""tf.saved_model: a model goes into a folder and comes back, with files, signatures and what runs first."""

import os
import shutil

import pytest

import millrace as tf

constants = tf.saved_model.signature_constants


def model():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=[[1.0], [2.0]])
    b = tf.get_variable("b", initializer=[0.5], use_resource=True)
    return x, tf.add(tf.matmul(x, w), b, name="y")


def save(folder, **kwargs):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = model()
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(tf.global_variables()[0], [[3.0], [4.0]]))
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y}, **kwargs)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "saved")


def test_what_was_saved_is_served_by_its_signature(folder, session):
    save(folder)
    assert sorted(os.listdir(folder)) == ["saved_model.pb", "variables"]
    loaded = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], folder)
    signature = loaded.signature_def[constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    assert signature.method_name == "tensorflow/serving/predict"
    assert [dim.size for dim in signature.inputs["x"].tensor_shape.dim] == [-1, 2]
    y = tf.saved_model.utils.get_tensor_from_tensor_info(signature.outputs["y"])
    assert session.run(y, {signature.inputs["x"].name: [[1.0, 1.0]]}).tolist() == [[7.5]]
    assert tf.saved_model.signature_def_utils.is_valid_signature(signature)


def test_folders_may_be_named_by_bytes(folder, session):
    with tf.Graph().as_default(), tf.Session() as other:
        x, y = model()
        other.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(other, folder.encode(), {"x": x}, {"y": y})
        tf.summary.FileWriter(folder.encode() + b"_logs", other.graph).close()
    assert os.listdir(folder + "_logs")
    assert tf.saved_model.loader.maybe_saved_model_directory(folder.encode())
    tf.saved_model.loader.load(session, ["serve"], folder.encode())
    assert session.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[3.5]]


def test_a_folder_that_is_moved_still_loads_under_a_scope(folder, session):
    save(folder)
    moved = folder + "_moved"
    shutil.move(folder, moved)
    tf.saved_model.loader.load(session, {"serve"}, moved, import_scope="inner")
    assert session.run("inner/y:0", {"inner/x:0": [[1.0, 0.0]]}).tolist() == [[3.5]]


def test_text_is_read_as_bytes_are(folder, session):
    with tf.Graph().as_default(), tf.Session() as other:
        x, y = model()
        other.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(other, ["one", "two"])
        assert builder.save(as_text=True) == os.path.join(folder, "saved_model.pbtxt").encode()
    assert tf.saved_model.contains_saved_model(folder)
    tf.saved_model.loader.load(session, ["two", "one"], folder)
    assert session.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[3.5]]


def test_files_go_along_and_are_found_where_they_are_now(folder, tmp_path, session):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words").write_text(f"{name}\n")
    with tf.Graph().as_default(), tf.Session() as other:
        paths = [tf.constant(str(tmp_path / name / "words")) for name in ("a", "b", "a")]
        for path in paths:
            tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
        read = tf.Variable("", name="read", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        first = tf.assign(read, tf.read_file(paths[0]) + tf.read_file(paths[1])).op
        tf.saved_model.simple_save(
            other, folder, {"in": paths[0]}, {"out": tf.identity(read)}, legacy_init_op=first
        )
    assert sorted(os.listdir(os.path.join(folder, "assets"))) == ["words", "words_1"]
    shutil.rmtree(tmp_path / "a")
    shutil.rmtree(tmp_path / "b")
    shutil.move(folder, folder + "_moved")
    tf.saved_model.loader.load(session, ["serve"], folder + "_moved")
    assert session.run("read:0") == b"a\nb\n"


def test_several_graphs_share_the_variables(folder, session):
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    with pytest.raises(AssertionError, match="has not been saved yet"):
        builder.add_meta_graph(["serve"])
    with tf.Graph().as_default(), tf.Session() as other:
        model()
        other.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(other, ["train"])
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(other, ["train"])
    with tf.Graph().as_default():
        x, y = model()
        tf.negative(y, name="z")
        builder.add_meta_graph(["serve"])
    builder.save()
    tf.saved_model.loader.load(session, ["serve"], folder)
    assert session.run("z:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[-3.5]]
    with pytest.raises(RuntimeError, match=r"tags 'gpu' could not be found.*serve"):
        tf.saved_model.loader.load(session, ["gpu"], folder)


def test_what_cannot_be_saved_is_refused(folder, session):
    os.makedirs(folder)
    with open(os.path.join(folder, "other"), "w"):
        pass
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.builder.SavedModelBuilder(folder)
    builder = tf.saved_model.builder.SavedModelBuilder(folder + "2")
    info = tf.saved_model.utils.build_tensor_info(tf.constant(1.0))
    build = tf.saved_model.signature_def_utils.build_signature_def
    with pytest.raises(KeyError, match="reserved"):
        builder.add_meta_graph_and_variables(
            session, ["x"], {"__saved_model_init_op": build({"a": info}, {"b": info})}
        )
    info.ClearField("dtype")
    with pytest.raises(AssertionError, match="dtype field"):
        builder.add_meta_graph_and_variables(session, ["x"], {"s": build({"a": info}, {})})
    with pytest.raises(TypeError, match="of type constant"):
        builder.add_meta_graph_and_variables(
            session, ["x"], assets_collection=[tf.identity("words")]
        )
    with pytest.raises(TypeError, match="to be an Operation"):
        builder.add_meta_graph_and_variables(session, ["x"], main_op=tf.constant(1))


def test_a_folder_without_a_model_says_so(tmp_path, session):
    assert not tf.saved_model.contains_saved_model(str(tmp_path))
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        tf.saved_model.loader.load(session, ["serve"], str(tmp_path))
    (tmp_path / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.saved_model.loader.load(session, ["serve"], str(tmp_path))
    (tmp_path / "saved_model.pb").unlink()
    (tmp_path / "saved_model.pbtxt").write_text("meta_graphs {\n  graph: 3\n}\n")
    with pytest.raises(OSError, match="line 2: 'graph' is no field"):
        tf.saved_model.loader.load(session, ["serve"], str(tmp_path))


def test_signatures_take_what_a_server_takes():
    utils = tf.saved_model.signature_def_utils
    texts, numbers = tf.constant(["a"]), tf.constant([1.0])
    classified = utils.classification_signature_def(texts, texts, numbers)
    regressed = utils.regression_signature_def(texts, numbers)
    assert utils.is_valid_signature(classified) and utils.is_valid_signature(regressed)
    regressed.method_name = constants.CLASSIFY_METHOD_NAME
    assert not utils.is_valid_signature(regressed)
    assert not utils.is_valid_signature(utils.build_signature_def({}, {}, "other"))
    with pytest.raises(ValueError, match="must be of type string"):
        utils.regression_signature_def(numbers, numbers)
    with pytest.raises(ValueError, match="cannot both be None"):
        utils.classification_signature_def(texts, None, None)
    with pytest.raises(ValueError, match="None or empty"):
        utils.predict_signature_def({}, {"y": numbers})


def test_sparse_tensors_go_by_their_three_parts(session):
    given = tf.SparseTensor([[0, 1]], [5.0], [1, 2])
    info = tf.saved_model.utils.build_tensor_info(given)
    found = tf.saved_model.utils.get_tensor_from_tensor_info(info)
    assert found.values is given.values and found.dense_shape is given.dense_shape
