"""tf.keras.preprocessing.text: texts as numbers."""

from millrace._samples.texts import (
    Tokenizer,
    hashing_trick,
    one_hot,
    text_to_word_sequence,
    tokenizer_from_json,
)
