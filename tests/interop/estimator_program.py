"""A canned estimator, exported by Millrace and served by either: estimator_program.py MODULE FOLDER.

With `millrace` it trains a wide and deep classifier, exports it into the folder and prints what it predicts;
with `tensorflow` it prints what the exported model gives. Both print JSON.
"""

import json
import os
import sys

import numpy as np

from programs import module_named

RNG = np.random.RandomState(0)
SIZE = RNG.rand(64, 1).astype(np.float32)
WORD = RNG.choice(["red", "green", "blue"], [64, 1])
END = RNG.choice(["left", "right"], [64, 1])
LABELS = np.array(["no", "maybe", "yes"])[np.digitize(SIZE[:, 0] + (WORD[:, 0] == "red"), [0.5, 1])]


def export(tf, folder):
    column = tf.feature_column
    words = os.path.join(folder, "words.txt")
    with open(words, "w", encoding="utf-8") as file:
        file.write("red\nblue\n")
    size = column.numeric_column("size")
    word = column.categorical_column_with_vocabulary_file("word", words, num_oov_buckets=1)
    wide = [word, column.bucketized_column(size, [0.5]), column.crossed_column(["word", "end"], 20)]
    deep = [size, column.embedding_column(word, 2)]
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_optimizer=tf.train.AdagradOptimizer(0.1),
        dnn_hidden_units=[8],
        n_classes=3,
        label_vocabulary=["no", "maybe", "yes"],
        config=tf.estimator.RunConfig(os.path.join(folder, "model"), tf_random_seed=1),
    )
    give = tf.estimator.inputs.numpy_input_fn
    features = {"size": SIZE, "word": WORD, "end": END}
    estimator.train(give(features, LABELS, 32, None, False), steps=50)
    spec = column.make_parse_example_spec([*wide, *deep])
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    estimator.export_savedmodel(os.path.join(folder, "exported"), receiver)
    found = list(estimator.predict(give(features, batch_size=64, shuffle=False)))
    os.remove(words)  # a copy is with the model
    return {
        "probabilities": [each["probabilities"].tolist() for each in found],
        "classes": [each["classes"][0].decode() for each in found],
    }


def example(tf, size, word, end):
    made = tf.train.Example()
    made.features.feature["size"].float_list.value.append(size)
    made.features.feature["word"].bytes_list.value.append(word.encode())
    made.features.feature["end"].bytes_list.value.append(end.encode())
    return made.SerializeToString()


def serve(tf, folder):
    exported = os.path.join(folder, "exported")
    (path,) = os.listdir(exported)
    texts = [example(tf, *(each[0] for each in row)) for row in zip(SIZE, WORD, END)]
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.loader.load(session, ["serve"], os.path.join(exported, path))
        predict = model.signature_def["predict"]
        classify = model.signature_def["classification"]
        feeds = {predict.inputs["examples"].name: texts}
        wanted = {key: info.name for key, info in predict.outputs.items()}
        found = session.run(wanted, feeds)
        scores = session.run(classify.outputs["scores"].name, feeds)
    np.testing.assert_array_equal(scores, found["probabilities"])
    return {
        "probabilities": found["probabilities"].tolist(),
        "classes": [each[0].decode() for each in found["classes"]],
    }


def main():
    tf, folder = module_named(sys.argv[1]), sys.argv[2]
    found = {} if sys.argv[1] == "tensorflow" else {"asked": export(tf, folder)}
    print(json.dumps({**found, "served": serve(tf, folder)}))


if __name__ == "__main__":
    main()
