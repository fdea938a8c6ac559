"""Beams of a search in a batch: a member several times, and what belongs to a beam in the end."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._ops.arithmetic import cast
from millrace._ops.arrays import concat, reshape, tile, where
from millrace._ops.reductions import reduce_max
from millrace._ops.shaped import sequence_mask
from millrace._values import dtypes, structure


def tile_batch(t, multiplier, name=None):
    """Each member of the batch several times in a row.

    Args:
      t: Tensors of shape [batch, ...] and known rank, in any structure.
      multiplier: how often, an int.
      name: a name scope.

    Returns:
      Tensors of shape [batch * multiplier, ...].

    Raises:
      ValueError: if a rank is not known, or a Tensor is a scalar.
    """

    def tiled(leaf):
        leaf = convert(leaf, name="t")
        if leaf.shape.ndims is None or leaf.shape.ndims < 1:
            raise ValueError(f"t must have statically known rank, at least 1, not {leaf.shape}")
        batch, *rest = leaf.shape.as_list()
        sizes = gen_ops.shape(leaf)
        made = tile(gen_ops.expand_dims(leaf, 1), [1, multiplier, *[1] * len(rest)])
        made = reshape(made, concat([[sizes[0] * multiplier], sizes[1:]], 0))
        made.set_shape([None if batch is None else batch * multiplier, *rest])
        return made

    with name_scope(name, "tile_batch"):
        return structure.map_structure(tiled, t)


def gather_tree_from_array(t, parent_ids, sequence_length):
    """What belongs to each beam in the end, of values that stand where the beams were then.

    Args:
      t: of shape [time, batch, beam, ...], or [time, batch * beam, ...].
      parent_ids: int32, of shape [time, batch, beam]: which beam each one continues.
      sequence_length: of shape [batch, beam].

    Returns:
      a Tensor of the shape of `t`.
    """
    sizes = gen_ops.shape(parent_ids)
    times, batch, width = sizes[0], sizes[1], sizes[2]
    beams = tile(reshape(gen_ops.range(0, width, 1), [1, 1, -1]), [times, batch, 1])
    lengths = cast(sequence_length, dtypes.int32)
    sorted_beams = gen_ops.gather_tree(beams, parent_ids, reduce_max(lengths, axis=1), width + 1)
    is_inside = gen_ops.transpose(sequence_mask(lengths, maxlen=times), [2, 0, 1])
    sorted_beams = where(is_inside, sorted_beams, beams)
    time_ids = tile(reshape(gen_ops.range(0, times, 1), [-1, 1, 1]), [1, batch, width])
    batch_ids = tile(reshape(gen_ops.range(0, batch, 1), [1, -1, 1]), [times, 1, width])
    places = gen_ops.pack([time_ids, batch_ids, sorted_beams], axis=-1)
    by_beam = reshape(t, concat([sizes, [-1]], 0))
    made = reshape(gen_ops.gather_nd(by_beam, places), gen_ops.shape(t))
    made.set_shape(t.shape)
    return made
