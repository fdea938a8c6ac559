"""Models as tf.keras has them, over layers, losses, optimizers and sessions."""
