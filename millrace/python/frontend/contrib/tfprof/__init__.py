"""tf.contrib.tfprof: tf.profiler under its older names."""

from millrace.contrib.tfprof import model_analyzer, tfprof_logger
