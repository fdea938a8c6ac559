"""What tests of programs build on: tf.test."""
