"""tf.contrib.image: colours of images changed in YIQ."""

from millrace._ops.yiq import adjust_hsv_in_yiq, random_hsv_in_yiq
