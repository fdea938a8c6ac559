"""tf.contrib.hooks: the hook that tf.train has, too."""

from millrace._supervised.saving_hooks import ProfilerHook
