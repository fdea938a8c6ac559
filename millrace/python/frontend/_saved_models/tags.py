"""The tags by which graphs of a SavedModel are commonly found."""

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"
