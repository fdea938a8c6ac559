"""tf.nn: what layers are made of."""

from millrace._gen import l2_loss, relu, relu6, softplus
from millrace._ops.arithmetic import sigmoid, tanh
