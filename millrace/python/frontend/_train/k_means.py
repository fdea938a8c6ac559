"""KMeans: clusters of points, found step by step."""

from millrace import _gen as gen_ops
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import group, no_op
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._ops.arithmetic import add_n, argmin, cast, range
from millrace._ops.arrays import concat, expand_dims, gather, ones, squeeze
from millrace._ops.linear_algebra import matmul
from millrace._ops.normalization import l2_normalize
from millrace._ops.random_values import random_shuffle
from millrace._ops.reductions import reduce_min, reduce_sum
from millrace._state.initializers import Zeros
from millrace._state.variables import Variable

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"
# Keeps the divisor of a cluster without points from 0.
_TINY = 1e-6


class KMeans:
    """Clusters of the rows of matrices.

    Args:
      inputs: a float matrix, or a list of matrices of one width: points in rows.
      num_clusters: how many clusters there are.
      initial_clusters: "random" for points drawn from the inputs, no one twice; or a matrix; or a function
        of (inputs, num_clusters) that gives one.
      distance_metric: "squared_euclidean" or "cosine".
      use_mini_batch: True if a step sees a part of the points: centers are then means of all points
        that they were given so far. False to move them to the means of the step's points.
      mini_batch_steps_per_iteration: must be 1.
      random_seed: the seed.
      kmeans_plus_plus_num_retries, kmc2_chain_length: accepted.

    Raises:
      ValueError: for an unknown metric, or if the width of the inputs is not known;
      NotImplementedError: for other ways to begin, or more steps.
    """

    SQUARED_EUCLIDEAN_DISTANCE = SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = COSINE_DISTANCE

    def __init__(
        self,
        inputs,
        num_clusters,
        initial_clusters=RANDOM_INIT,
        distance_metric=SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch=False,
        mini_batch_steps_per_iteration=1,
        random_seed=0,
        kmeans_plus_plus_num_retries=2,
        kmc2_chain_length=200,
    ):
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric passed to Kmeans {distance_metric}")
        if isinstance(initial_clusters, str) and initial_clusters != RANDOM_INIT:
            raise NotImplementedError(
                f"initial_clusters={initial_clusters!r}: give 'random', a matrix or a function"
            )
        if mini_batch_steps_per_iteration != 1:
            raise NotImplementedError("mini_batch_steps_per_iteration must be 1")
        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        self._inputs = [convert(each) for each in given]
        widths = {each.shape.with_rank(2).as_list()[1] for each in self._inputs}
        if len(widths) != 1 or None in widths:
            raise ValueError(f"inputs must be matrices of one known width, not of {widths}")
        self._width, self._num_clusters = widths.pop(), num_clusters
        self._initial, self._seed = initial_clusters, random_seed
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch

    def training_graph(self):
        """The nodes of a step.

        Returns:
          (all_scores, cluster_idx, scores, cluster_centers_initialized, init_op, training_op): for each
          input the distances of points from all centers, the nearest center, and the distance from it;
          a bool variable; the Operation that chooses the first centers once; and that which moves them.
        """
        dtype = self._inputs[0].dtype.base_dtype
        shape = [self._num_clusters, self._width]
        centers = Variable(lambda: Zeros()(shape, dtype), trainable=False, name="clusters")
        is_begun = Variable(False, trainable=False, name="initialized")
        points = (
            [l2_normalize(each, 1) for each in self._inputs] if self._is_cosine else self._inputs
        )

        def begin():
            with control_dependencies([centers.assign(self._first(points, dtype))]):
                return group(is_begun.assign(True))

        init_op = group(cond(is_begun, no_op, begin))
        now = l2_normalize(centers, 1) if self._is_cosine else centers
        all_scores = [self._distances(each, now) for each in points]
        nearest = [argmin(each, 1) for each in all_scores]
        scores = [reduce_min(each, 1) for each in all_scores]
        training_op = self._training(points, nearest, centers, dtype)
        return all_scores, nearest, scores, is_begun, init_op, training_op

    def _first(self, points, dtype):
        if callable(self._initial):
            return cast(self._initial(self._inputs, self._num_clusters), dtype)
        if not isinstance(self._initial, str):
            return convert(self._initial, dtype)
        every = concat(points, 0) if len(points) > 1 else points[0]
        rows = random_shuffle(range(gen_ops.shape(every)[0]), seed=self._seed)
        return gather(every, rows[: self._num_clusters])

    def _distances(self, points, centers):
        products = matmul(points, centers, transpose_b=True)
        if self._is_cosine:
            return 1.0 - products
        of_points = reduce_sum(gen_ops.square(points), 1, keepdims=True)
        of_centers = expand_dims(reduce_sum(gen_ops.square(centers), 1), 0)
        return gen_ops.maximum(of_points - 2.0 * products + of_centers, 0.0)

    def _training(self, points, nearest, centers, dtype):
        clusters = self._num_clusters
        sums = add_n(
            [
                gen_ops.unsorted_segment_sum(each, ids, clusters)
                for each, ids in zip(points, nearest)
            ]
        )
        counts = add_n(
            [
                gen_ops.unsorted_segment_sum(
                    squeeze(ones(concat([gen_ops.shape(each)[:1], [1]], 0), dtype), [1]),
                    ids,
                    clusters,
                )
                for each, ids in zip(points, nearest)
            ]
        )
        if not self._use_mini_batch:
            moved = sums / (expand_dims(counts, 1) + _TINY)
            return group(centers.assign(l2_normalize(moved, 1) if self._is_cosine else moved))
        total = Variable(lambda: Zeros()([clusters], dtype), trainable=False, name="update_counts")
        old = gen_ops.identity(centers)
        with control_dependencies([sums, counts, old]):
            seen = gen_ops.identity(total.assign_add(counts))
        change = sums - expand_dims(counts, 1) * old
        return group(centers.assign_add(change / expand_dims(gen_ops.maximum(seen, 1.0), 1)))
