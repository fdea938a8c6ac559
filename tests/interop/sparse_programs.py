"""Programs of training_programs.py on sparse tensors: bags of words, products, batches, CTC."""

import numpy as np


def bags(tf, session):
    """A table of words is trained on bags of them, in every way to combine them."""
    words = tf.SparseTensor(
        [[0, 0], [0, 1], [0, 2], [1, 0], [3, 0], [3, 1]], [1, 4, 1, 2, 0, -1], [4, 3]
    )
    weights = tf.SparseTensor(words.indices, [0.5, 1.0, 2.0, 3.0, 1.5, 1.0], words.dense_shape)
    kept = tf.sparse_retain(words, words.values >= 0)
    start = np.linspace(-1, 1, 10).reshape(5, 2).astype("float32")
    results = {}
    for combiner in ("sum", "mean", "sqrtn"):
        for given in (None, weights):
            table = tf.Variable(start)
            found = tf.nn.safe_embedding_lookup_sparse(
                table, words, given, combiner=combiner, max_norm=0.9
            )
            loss = tf.reduce_sum(tf.square(found - 0.3))
            if given is None:
                # The third bag is empty, which only the safe form takes.
                rows = tf.nn.embedding_lookup_sparse(
                    [table[::2], table[1::2]], kept, None, combiner=combiner
                )
                loss += tf.reduce_sum(rows * rows)
            train = tf.train.AdagradOptimizer(0.5).minimize(loss)
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train])[0].item() for _ in range(4)]
            results[f"{combiner} {given is not None}"] = [losses, session.run(table).tolist()]
    return results


def sparse_arithmetic(tf, session):
    """Gradients through products, sums, reductions and softmax, of values and of dense sides."""
    values = tf.constant([1.0, -2.0, 3.0, 0.5])
    sparse = tf.SparseTensor([[0, 1], [1, 0], [1, 2], [2, 2]], values, [3, 3])
    dense = tf.constant(np.arange(1, 10).reshape(3, 3) / 4, tf.float32)
    turned = tf.sparse_reorder(tf.sparse_transpose(sparse))
    made = {
        "product": tf.sparse_tensor_dense_matmul(sparse, dense),
        "adjoint": tf.sparse_tensor_dense_matmul(sparse, dense, adjoint_a=True, adjoint_b=True),
        "sum": tf.sparse_add(sparse, dense),
        "two": tf.sparse_add(sparse, turned).values,
        "cells": (sparse * dense).values,
        "quotients": (sparse / dense).values,
        "rows": tf.sparse_reduce_sum(sparse, 1),
        "softmax": tf.sparse_softmax(sparse).values,
        "slice": tf.sparse_slice(sparse, [1, 0], [2, 3]).values,
        "filled": tf.sparse_fill_empty_rows(sparse, 7.0)[0].values,
    }
    results = {}
    for name, y in made.items():
        gradients = tf.gradients(y * y, [values, dense])
        results[name] = [
            session.run(y).tolist(),
            [None if g is None else session.run(g).tolist() for g in gradients],
        ]
    return results


def spelling(tf, session):
    """A CTC loss is trained away."""
    logits = tf.Variable(np.linspace(-1, 1, 48).reshape(6, 2, 4).astype("float32"))
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 1, 2], [2, 2])
    loss = tf.reduce_sum(tf.nn.ctc_loss(labels, logits, [6, 4]))
    train = tf.train.GradientDescentOptimizer(0.7).minimize(loss)
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, train])[0].item() for _ in range(8)]
    (path,), chances = tf.nn.ctc_beam_search_decoder(logits, [6, 4], beam_width=8)
    found = session.run([tf.sparse_tensor_to_dense(path, -1), chances])
    return {"losses": losses, "path": [part.tolist() for part in found]}


SPARSE_PROGRAMS = [bags, sparse_arithmetic, spelling]
