"""tf.keras: its initializers and regularizers, which layers of tf.layers take too."""

from millrace.keras import initializers, regularizers
