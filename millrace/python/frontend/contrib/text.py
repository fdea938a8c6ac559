"""tf.contrib.text: pairs of words that stand near each other."""

from millrace._input.skip_grams import skip_gram_sample, skip_gram_sample_with_text_vocab
