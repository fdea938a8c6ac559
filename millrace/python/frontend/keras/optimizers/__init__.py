"""tf.keras.optimizers: what changes a model's variables."""

from millrace._keras.adaptive_optimizers import Adamax, Ftrl, Nadam
from millrace._keras.optimizer_names import deserialize, get, serialize
from millrace._keras.optimizers import SGD, Adadelta, Adagrad, Adam, Optimizer, RMSprop
from millrace.keras.optimizers import schedules
