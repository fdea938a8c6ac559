"""tf.xla.experimental: computations that TensorFlow compiles; nothing is compiled here."""

from millrace._flow.compiled import compile, jit_scope
