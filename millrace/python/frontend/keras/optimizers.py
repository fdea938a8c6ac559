"""tf.keras.optimizers: what changes a model's variables."""

from millrace._keras.optimizers import SGD, Adadelta, Adagrad, Adam, Optimizer, RMSprop, get
