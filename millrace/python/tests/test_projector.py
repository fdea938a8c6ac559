"""tf.contrib.tensorboard.plugins.projector: what TensorBoard is told of rows that it shows as points."""

import numpy as np
import pytest

import millrace as tf

projector = tf.contrib.tensorboard.plugins.projector


def test_the_projector_finds_what_to_show_beside_the_events(tmp_path):
    words = tf.get_variable("words", [10, 4])
    config = projector.ProjectorConfig()
    config.model_checkpoint_path = "model.ckpt"
    of_words = config.embeddings.add()
    of_words.tensor_name = words.name
    of_words.metadata_path = "words.tsv"
    pictures = config.embeddings.add(tensor_name="pictures", tensor_shape=[5, 2])
    pictures.sprite.image_path = "sprite.png"
    pictures.sprite.single_image_dim.extend([28, 30])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'model_checkpoint_path: "model.ckpt"\n'
        "embeddings {\n"
        '  tensor_name: "words:0"\n'
        '  metadata_path: "words.tsv"\n'
        "}\n"
        "embeddings {\n"
        '  tensor_name: "pictures"\n'
        "  tensor_shape: 5\n"
        "  tensor_shape: 2\n"
        "  sprite {\n"
        '    image_path: "sprite.png"\n'
        "    single_image_dim: 28\n"
        "    single_image_dim: 30\n"
        "  }\n"
        "}\n"
    )


def test_the_file_of_another_call_takes_the_place_of_the_first(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    for name in ("first", "second"):
        config = projector.ProjectorConfig(embeddings=[projector.EmbeddingInfo(tensor_name=name)])
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text == 'embeddings {\n  tensor_name: "second"\n}\n'
    assert len(list(tmp_path.iterdir())) == 2  # this and the events


def test_configurations_are_messages_with_the_numbers_of_tensorboard():
    config = projector.ProjectorConfig(model_checkpoint_dir="d")
    config.embeddings.add(bookmarks_path="b", tensor_path="t").sprite.single_image_dim.append(3)
    wire = config.SerializeToString()
    assert wire == b"\x12\x0a\x1a\x01b\x2a\x02\x10\x03\x32\x01t\x1a\x01d"
    assert projector.ProjectorConfig.FromString(wire) == config


def test_a_writer_without_a_folder_is_refused():
    class Writer:
        def get_logdir(self):
            return None

    with pytest.raises(ValueError, match="Summary writer must have a logdir"):
        projector.visualize_embeddings(Writer(), projector.ProjectorConfig())


def test_columns_of_metadata_are_as_long_as_there_are_points():
    known = projector.EmbeddingMetadata(3)
    known.add_column("word", ["a", "b", "c"])
    known.add_column("count", np.array([3, 2, 1]))
    assert known.column_names == ["word", "count"] and known.num_points == 3
    assert known.name_to_values["word"] == ["a", "b", "c"]
    for name, values, said in [
        ("short", [1, 2], "should be of length 3, but is of length 2"),
        ("deep", [[1], [2], [3]], "must be a flat list"),
        ("deep", np.zeros([3, 1]), "should be of rank 1, but is of rank 2"),
        ("word", [1, 2, 3], '"word" is already used'),
    ]:
        with pytest.raises(ValueError, match=said):
            known.add_column(name, values)
    assert known.column_names == ["word", "count"]
