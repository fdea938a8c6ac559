"""Keras's helpers: files from elsewhere, threads that prepare batches, progress, drawings, other libraries."""

import contextlib
import hashlib
import http.server
import io
import itertools
import json
import pickle
import sys
import tarfile
import threading
import types
import zipfile

import numpy as np
import pytest

import millrace as tf
from millrace._keras.progress import Progbar

keras, layers, utils = tf.keras, tf.keras.layers, tf.keras.utils

pytestmark = pytest.mark.usefixtures("same_draws")


def test_a_file_is_fetched_once_and_checked(tmp_path, capsys):
    origin = tmp_path / "origin"
    origin.write_bytes(b"words")
    url, digest = origin.as_uri(), hashlib.sha256(b"words").hexdigest()
    path = utils.get_file("kept", url, file_hash=digest, cache_dir=tmp_path / "cache")
    assert path == str(tmp_path / "cache" / "datasets" / "kept")
    assert capsys.readouterr().out == f"Downloading data from {url}\n"
    origin.write_bytes(b"others")
    assert open(utils.get_file("kept", url, cache_dir=tmp_path / "cache"), "rb").read() == b"words"
    (tmp_path / "cache" / "datasets" / "kept").write_bytes(b"torn")
    with pytest.raises(ValueError, match="has not the hash"):
        utils.get_file("kept", url, file_hash=digest, cache_dir=tmp_path / "cache")
    assert open(path, "rb").read() == b"torn"
    md5 = hashlib.md5(b"others").hexdigest()
    utils.get_file("kept", url, md5_hash=md5, cache_dir=tmp_path / "cache")
    assert open(path, "rb").read() == b"others"
    with pytest.raises(Exception, match="URL fetch failure on .*Put the file at"):
        utils.get_file("more", (tmp_path / "no").as_uri(), cache_dir=tmp_path / "cache")
    assert [each.name for each in (tmp_path / "cache" / "datasets").iterdir()] == ["kept"]


def test_archives_are_unpacked_but_not_outside_of_their_folder(tmp_path):
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as archive:
        held = tarfile.TarInfo("set/words")
        held.size = 2
        archive.addfile(held, io.BytesIO(b"ab"))
    cache = tmp_path / "cache"
    folder = utils.get_file("set", (tmp_path / "set.tar.gz").as_uri(), untar=True, cache_dir=cache)
    assert open(f"{folder}/words").read() == "ab"
    for name in ("inside", "../outside"):
        with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
            archive.writestr(name, "ab")
        url = (tmp_path / "set.zip").as_uri()
        if name == "inside":
            utils.get_file("one.zip", url, extract=True, cache_dir=cache)
            assert (cache / "datasets" / "inside").read_text() == "ab"
        else:
            with pytest.raises(ValueError, match="would be outside"):
                utils.get_file("two.zip", url, extract=True, cache_dir=cache)
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
    with pytest.raises(ValueError, match="would be outside"):
        utils.get_file("l.tar", (tmp_path / "link.tar").as_uri(), extract=True, cache_dir=cache)
    with pytest.raises(ValueError, match="Unknown archive format 'rar'"):
        utils.get_file("one.zip", "", extract=True, archive_format="rar", cache_dir=cache)


def test_an_archive_is_unpacked_whole_or_not_at_all(tmp_path):
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        # Each of these leads to the folder itself by its name; the second through the first one, outside.
        for name, lead in (("here", "."), ("there", "here/..")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, lead
            archive.addfile(link)
        archive.addfile(tarfile.TarInfo("there/outside"))
    url, cache = (tmp_path / "links.tar").as_uri(), tmp_path / "cache"
    with pytest.raises(ValueError, match="has there, which would be outside"):
        utils.get_file("links.tar", url, extract=True, cache_dir=cache)
    assert [each.name for each in (cache / "datasets").iterdir()] == ["links.tar"]
    assert not (cache / "outside").exists()
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name in ("set/one", "set/two"):
            entry = tarfile.TarInfo(name)
            entry.size = 1000
            archive.addfile(entry, io.BytesIO(np.random.RandomState(0).bytes(1000)))
    (tmp_path / "set").write_bytes(held.getvalue()[:-600])
    for _ in range(2):
        with pytest.raises(ValueError, match="is a torn archive.*remove it"):
            utils.get_file("set", (tmp_path / "set").as_uri(), untar=True, cache_dir=cache)
    assert not (cache / "datasets" / "set").exists()
    (tmp_path / "text").write_text("words")
    with pytest.raises(ValueError, match="is no archive"):
        utils.get_file("text", (tmp_path / "text").as_uri(), untar=True, cache_dir=cache)


@contextlib.contextmanager
def serving(**methods):
    """The URL of a server whose handler has these methods."""
    methods["log_message"] = lambda *unused: None
    handler = type("Handler", (http.server.BaseHTTPRequestHandler,), methods)
    server = http.server.HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_file_that_came_in_part_is_not_kept(tmp_path):
    def part(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"x" * 40)

    with serving(do_GET=part) as url:
        with pytest.raises(Exception, match="URL fetch failure on .*40 of 100 bytes came"):
            utils.get_file("torn", f"{url}/torn", cache_dir=tmp_path)
    assert not list((tmp_path / "datasets").iterdir())


class Numbers(utils.Sequence):
    def __init__(self):
        self.epochs = 0

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return index

    def on_epoch_end(self):
        self.epochs += 1


def test_threads_make_batches_ready_in_their_order():
    numbers = Numbers()
    enqueuer = utils.OrderedEnqueuer(numbers)
    enqueuer.start(workers=3, max_queue_size=4)
    assert list(itertools.islice(enqueuer.get(), 12)) == [0, 1, 2, 3, 4] * 2 + [0, 1]
    assert numbers.epochs >= 2
    enqueuer.stop()
    assert not enqueuer.is_running()
    with pytest.raises(RuntimeError, match="start it first"):
        next(enqueuer.get())
    shuffled = utils.OrderedEnqueuer(numbers, shuffle=True)
    shuffled.start()
    assert sorted(itertools.islice(shuffled.get(), 5)) == [0, 1, 2, 3, 4]
    shuffled.stop()
    given = utils.GeneratorEnqueuer(iter(range(4)))
    given.start(workers=3)
    assert list(given.get()) == [0, 1, 2, 3]

    def torn():
        yield 1
        raise KeyError("torn")

    given = utils.GeneratorEnqueuer(torn())
    given.start()
    with pytest.raises(KeyError, match="torn"):
        list(given.get())
    assert not given.is_running()


def test_an_epoch_ends_when_all_its_batches_were_taken():
    class Turning(Numbers):
        def __getitem__(self, index):
            return self.epochs, index

    enqueuer = utils.OrderedEnqueuer(Turning())
    enqueuer.start(workers=3, max_queue_size=10)
    made = list(itertools.islice(enqueuer.get(), 15))
    assert made == [(epoch, index) for epoch in range(3) for index in range(5)]
    enqueuer.stop()


def test_progress_is_told_in_a_line():
    now, out = [0.0], io.StringIO()
    bar = Progbar(4, width=8, clock=lambda: now[0], file=out, stateful_metrics=["last"])
    for step in range(1, 5):
        now[0] += 2.0
        bar.update(step, [("loss", float(step)), ("last", float(step))])
    lines = out.getvalue().replace("\b", "").split("\r")
    assert lines[1] == "1/4 [=>......] - ETA: 6s - loss: 1.0000 - last: 1.0000"
    assert lines[-1].rstrip() == "4/4 [========] - 8s 2s/step - loss: 2.5000 - last: 4.0000"
    assert out.getvalue().endswith("\n")
    unknown = Progbar(None, clock=lambda: now[0], file=out)
    unknown.add(3)
    assert out.getvalue().endswith("\r      3/Unknown - 0s 0s/step")


def test_the_inputs_of_a_tensor_are_found():
    a, b = keras.Input([2]), keras.Input([2])
    made = layers.add([layers.Dense(2)(a), layers.Dense(2)(b)])
    assert utils.get_source_inputs(made) == [a, b]
    assert utils.get_source_inputs(a) == [a]


def test_a_drawing_needs_a_library_and_has_a_box_for_each_layer(monkeypatch):
    a = keras.Input([2], name="a")
    model = keras.Model(a, layers.Dense(3, name="d")(a))
    for name in ("pydot", "pydotplus", "pydot_ng"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="install pydot"):
        utils.model_to_dot(model)

    class Dot:
        def __init__(self):
            self.nodes, self.edges = [], []
            self.add_node, self.add_edge = self.nodes.append, self.edges.append

        def set(self, *unused):
            pass

        def set_node_defaults(self, **unused):
            pass

    pydot = types.SimpleNamespace(
        Dot=Dot, Node=lambda name, label: (name, label), Edge=lambda a, b: (a, b)
    )
    monkeypatch.setitem(sys.modules, "pydot", pydot)
    dot = utils.model_to_dot(model, show_shapes=True)
    assert [label.partition("\n")[0] for _, label in dot.nodes] == ["a: InputLayer", "d: Dense"]
    assert "(None, 3)" in dot.nodes[1][1]
    assert dot.edges == [(dot.nodes[0][0], dot.nodes[1][0])]


def test_a_server_is_told_how_training_goes():
    told = []

    def post(handler):
        told.append(json.loads(handler.rfile.read(int(handler.headers["Content-Length"]))))
        handler.send_response(200)
        handler.end_headers()

    with serving(do_POST=post) as root:
        monitor = keras.callbacks.RemoteMonitor(root, send_as_json=True)
        monitor.on_epoch_end(2, {"loss": np.float32(0.5)})
    assert told == [{"epoch": 2, "loss": 0.5}]
    with pytest.warns(UserWarning, match="Could not reach RemoteMonitor"):
        monitor.on_epoch_end(3, {})


def test_schedules_in_waves_are_serialized_and_go_up_again():
    experimental, schedules = keras.experimental, keras.optimizers.schedules
    waves = experimental.CosineDecayRestarts(1.0, 10, t_mul=1.0, m_mul=0.5)
    line = experimental.LinearCosineDecay(1.0, 10)
    noisy = experimental.NoisyLinearCosineDecay(1.0, 10, initial_variance=1e-9)
    run = keras.backend.get_session().run
    np.testing.assert_allclose(run([waves(0.0), waves(10.0)]), [1.0, 0.5], atol=1e-5)
    np.testing.assert_allclose(run(line(10.0)), 0.001, atol=1e-6)
    np.testing.assert_allclose(*run([line(4.0), noisy(4.0)]), atol=1e-3)
    back = schedules.deserialize(schedules.serialize(waves))
    assert vars(back) == vars(waves)


def test_models_are_estimators_of_scikit_learn():
    scikit = keras.wrappers.scikit_learn
    x = np.random.RandomState(0).normal(size=(60, 2)).astype(np.float32)
    labels = np.where(x[:, 0] > 0, "right", "left")

    def build(hidden=4, loss="sparse_categorical_crossentropy"):
        model = keras.Sequential(
            [
                layers.Dense(hidden, activation="tanh", input_shape=(2,)),
                layers.Dense(2, activation="softmax"),
            ]
        )
        model.compile(keras.optimizers.Adam(0.1), loss)
        return model

    for loss in (
        "sparse_categorical_crossentropy",
        "categorical_crossentropy",
        keras.losses.CategoricalCrossentropy(),
        keras.losses.categorical_crossentropy,
    ):
        classifier = scikit.KerasClassifier(build, hidden=8, epochs=20, verbose=0, loss=loss)
        classifier.fit(x, labels)
        assert classifier.score(x, labels) > 0.9
        assert set(classifier.predict(x)) == {"left", "right"}
        np.testing.assert_allclose(classifier.predict_proba(x).sum(1), 1, rtol=1e-5)
    assert classifier.get_params()["hidden"] == 8
    with pytest.raises(ValueError, match="width is not a legal parameter"):
        classifier.set_params(width=3)

    def line():
        model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        return model

    regressor = scikit.KerasRegressor(line, epochs=30, verbose=0)
    regressor.fit(x, x @ [1.0, 2.0])
    assert regressor.score(x, x @ [1.0, 2.0]) > -0.01
    assert regressor.predict(x).shape == (60,)


def test_data_sets_are_read_from_files_that_are_there(tmp_path, monkeypatch):
    datasets = keras.datasets
    x, y = np.arange(40.0).reshape(10, 4), np.arange(10.0)
    np.savez(tmp_path / "houses.npz", x=x, y=y)
    (x_train, y_train), (x_test, _) = datasets.boston_housing.load_data(
        str(tmp_path / "houses.npz")
    )
    assert len(x_train) == 8 and len(x_test) == 2
    np.testing.assert_array_equal(x_train[:, 0], y_train * 4)
    reviews = np.empty(3, object)
    reviews[:] = [[1, 2, 9], [4], [5, 6, 7, 8]]
    np.savez(
        tmp_path / "films.npz", x_train=reviews, y_train=[0, 1, 0], x_test=reviews, y_test=[0, 1, 0]
    )
    (x_train, y_train), _ = datasets.imdb.load_data(str(tmp_path / "films.npz"), num_words=9)
    by_label = {len(each): (label, each) for label, each in zip(y_train, x_train)}
    assert by_label[4] == (0, [1, 4, 5, 2]) and by_label[2] == (1, [1, 7])
    np.savez(tmp_path / "news.npz", x=reviews, y=[0, 1, 0])
    (x_train, _), (x_test, _) = datasets.reuters.load_data(
        str(tmp_path / "news.npz"), start_char=None, index_from=0, oov_char=None, num_words=6
    )
    assert sorted(map(len, [*x_train, *x_test])) == [1, 1, 2]
    (tmp_path / "words.json").write_text('{"a": 1}')
    assert datasets.imdb.get_word_index(str(tmp_path / "words.json")) == {"a": 1}
    folder = tmp_path / "datasets" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    (tmp_path / "datasets" / "cifar-10-batches-py.tar.gz").write_bytes(b"")
    picture = np.arange(3072).reshape(1, -1).astype(np.uint8)
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        (folder / name).write_bytes(pickle.dumps({b"data": picture, b"labels": [3]}))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (x_train, y_train), (x_test, _) = datasets.cifar10.load_data()
    assert x_train.shape == (5, 32, 32, 3) and x_test.shape == (1, 32, 32, 3)
    assert x_train[0, 0, 1].tolist() == picture[0, [1, 1025, 2049]].tolist()
    assert y_train.tolist() == [[3]] * 5
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": picture, b"labels": [3, 4]}))
    with pytest.raises(ValueError, match="test_batch has 1 samples and 2 labels"):
        datasets.cifar10.load_data()
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": print}))
    with pytest.raises(ValueError, match="asks for builtins.print"):
        datasets.cifar10.load_data()


def test_a_file_of_words_that_would_run_something_is_refused(tmp_path):
    asked = np.array([print], object)
    np.savez(tmp_path / "words.npz", x=asked, y=[0])
    with pytest.raises(ValueError, match="asks for builtins.print"):
        tf.keras.datasets.reuters.load_data(str(tmp_path / "words.npz"))
