"""tf.contrib.layers' embeddings: of the words of documents, one by one or their average."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.sparse_tensor import SparseTensor
from millrace._layers.model_variables import model_variable
from millrace._ops.arithmetic import not_equal
from millrace._ops.arrays import concat, gather, reshape, shape, where
from millrace._ops.embeddings import embedding_lookup
from millrace._ops.rearranging import gather_nd, unique
from millrace._ops.reductions import reduce_mean
from millrace._ops.sparse_embeddings import safe_embedding_lookup_sparse
from millrace._state.named_variables import variable_scope
from millrace._values import dtypes


def bow_encoder(
    ids,
    vocab_size,
    embed_dim,
    sparse_lookup=True,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """The average of the embeddings of each document's words.

    Args:
      ids: numbers of words, an int32 or int64 Tensor or SparseTensor of shape [batch, words].
      vocab_size: how many words there are.
      embed_dim: the size of an embedding.
      sparse_lookup: True to leave out words of number 0 (an empty document has the embedding of 0).
      initializer, regularizer, trainable, reuse: of the variable, as in tf.get_variable.
      scope: the variable scope; "bow_encoder" by default. The variable is `embeddings`.

    Returns:
      a Tensor of shape [batch, embed_dim].

    Raises:
      ValueError: without vocab_size or embed_dim. TypeError: for a SparseTensor without sparse_lookup.
    """
    if not vocab_size or not embed_dim:
        raise ValueError(
            "bow_encoder needs vocab_size and embed_dim, got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        table = model_variable(
            "embeddings",
            [vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            sparse = ids if isinstance(ids, SparseTensor) else without(convert(ids), 0)
            return safe_embedding_lookup_sparse([table], sparse, combiner="mean", default_id=0)
        if isinstance(ids, SparseTensor):
            raise TypeError(
                f"ids are expected to be a dense Tensor without sparse_lookup, got: {ids}"
            )
        return reduce_mean(embedding_lookup(table, ids), axis=1)


def without(values, left_out):
    """A Tensor's elements that are not `left_out`, as a SparseTensor."""
    places = where(not_equal(values, convert(left_out, values.dtype)))
    return SparseTensor(places, gather_nd(values, places), shape(values, out_type=dtypes.int64))


def embed_sequence(
    ids,
    vocab_size=None,
    embed_dim=None,
    unique=False,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """The embeddings of words.

    Args:
      ids: numbers of words, an int32 or int64 Tensor of shape [batch, words].
      vocab_size, embed_dim: as for bow_encoder; may be None to reuse a variable.
      unique: True to look each number up once.
      scope: the variable scope; "EmbedSequence" by default. The variable is `embeddings`.
      Others: as for bow_encoder.

    Returns:
      a Tensor of shape [batch, words, embed_dim].

    Raises:
      ValueError: without vocab_size or embed_dim, unless a variable is reused.
    """
    if not (reuse or vocab_size and embed_dim):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        is_known = vocab_size is not None and embed_dim is not None
        table = model_variable(
            "embeddings",
            [vocab_size, embed_dim] if is_known else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        return (embedding_lookup_unique if unique else embedding_lookup)(table, ids)


def embedding_lookup_unique(params, ids, partition_strategy="mod", name=None):
    """embedding_lookup that looks each number up once: for numbers that are often the same.

    Args and returns: as for tf.nn.embedding_lookup.
    """
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert(ids)
        found, places = unique(reshape(ids, [-1]))
        rows = gather(embedding_lookup(params, found, partition_strategy), places)
        made = reshape(rows, concat([shape(ids), shape(rows)[1:]], 0))
        made.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return made


def dense_to_sparse(tensor, eos_token=0, outputs_collections=None, scope=None):
    """A Tensor's elements that are not eos_token, as a SparseTensor.

    Args:
      tensor: an int Tensor.
      outputs_collections: accepted.
      scope: the variable scope; "dense_to_sparse" by default.
    """
    with variable_scope(scope, "dense_to_sparse", [tensor]):
        return without(gen_ops.identity(convert(tensor)), eos_token)
