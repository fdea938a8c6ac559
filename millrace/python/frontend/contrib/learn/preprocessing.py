"""tf.contrib.learn.preprocessing: texts as rows of numbers of words."""

from millrace._samples.vocabularies import (
    ByteProcessor,
    CategoricalVocabulary,
    VocabularyProcessor,
    tokenizer,
)
