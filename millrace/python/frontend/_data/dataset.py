"""Dataset: a sequence of elements as nodes of a graph, and what can be made of it."""

from millrace import _gen as gen_ops
from millrace._data import elements
from millrace._data.dataset_spec import DatasetSpec
from millrace._data.elements import Nested, Spec
from millrace._data.functions import Traced
from millrace._data.generators import GeneratorWalks
from millrace._data.iterators import Iterator
from millrace._data.options import Options
from millrace._flow.control_flow import Assert
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import colocate_with, control_dependencies
from millrace._graph.function_graph import define_by_value
from millrace._graph.operation import Tensor
from millrace._ops.random_values import get_seed
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape
from millrace._values.type_spec import register_specs

__all__ = ["AUTOTUNE", "Dataset", "made"]

AUTOTUNE = -1


def made(op, spec, *inputs, options=None, **attrs):
    """A Dataset of the node of an op: gen_ops' name of it, what it gives, its inputs and attributes."""
    if spec is not None and "output_shapes" not in attrs:
        attrs["output_shapes"] = spec.shapes
        if "Toutput_types" not in attrs and not attrs.pop("infers_types", False):
            attrs["output_types"] = spec.types
    attrs.pop("infers_types", None)
    variant = getattr(gen_ops, op)(*inputs, **attrs)
    return Dataset(variant, spec, options)


def _int64(value, name):
    return convert(value, dtypes.int64, name=name)


def _nested_dataset(variant, spec):
    return Dataset(variant, spec)


def _variant_of(value):
    """A function's result with the Tensors of datasets in their place."""
    return elements.map_structure(
        lambda leaf: leaf.variant if isinstance(leaf, Dataset) else leaf, value
    )


class Dataset:
    """A sequence of elements, each a structure of Tensors: tuples, namedtuples and dictionaries.

    Nothing is read or computed before an iterator walks along it in a session.

    Attributes:
      variant: the Tensor that stands for it.
      spec: the Spec of its elements.
    """

    def __init__(self, variant, spec, options=None):
        self.variant = variant
        self.spec = spec
        self._options = options or Options()

    @classmethod
    def from_variant(cls, variant, spec):
        """The Dataset that a Tensor stands for, whose elements a DatasetSpec tells."""
        return Dataset(variant, Spec.from_specs(spec.element_spec))

    _variant_tensor = property(lambda self: self.variant)

    @property
    def output_types(self):
        return self.spec.output_types

    @property
    def output_shapes(self):
        return self.spec.output_shapes

    @property
    def output_classes(self):
        return self.spec.output_classes

    @property
    def element_spec(self):
        """The structure of the TypeSpecs of its elements' components."""
        return self.spec.element_spec

    def __repr__(self):
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    def __iter__(self):
        raise RuntimeError(
            "dataset.__iter__() is only supported when eager execution is enabled: use "
            "make_one_shot_iterator().get_next() and a session."
        )

    # ---- From tensors ----------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors):
        """A dataset of one element: the structure `tensors`."""
        made_of = elements.converted(tensors)
        spec = Spec.of(made_of)
        return made("tensor_dataset", spec, spec.encoded(made_of), infers_types=True)

    @staticmethod
    def from_tensor_slices(tensors):
        """The parts along the first axis of a structure of Tensors or arrays, of sparse or ragged ones.

        Raises:
          ValueError: if one has no first axis, or they differ in its size.
        """
        made_of = elements.converted(tensors)
        spec = Spec.of(made_of)
        sizes = set()
        for shape in elements.flatten(spec.output_shapes):
            if shape.ndims == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            if shape.ndims is not None and shape[0].value is not None:
                sizes.add(shape[0].value)
        if len(sizes) > 1:
            raise ValueError(f"Dimensions {min(sizes)} and {max(sizes)} are not compatible")
        rows = spec.rows(made_of)
        return made("tensor_slice_dataset", spec.unbatched(), rows, infers_types=True)

    @staticmethod
    def range(*args):
        """The int64 numbers of range(*args): stop; start, stop; or start, stop, step.

        Raises:
          ValueError: for other numbers of arguments.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid args to RangeDataset: {args!r}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        spec = Spec(Tensor, [dtypes.int64], [TensorShape([])])
        return made(
            "range_dataset",
            spec,
            _int64(start, "start"),
            _int64(stop, "stop"),
            _int64(step, "step"),
        )

    @staticmethod
    def zip(datasets):
        """Elements of several datasets side by side: a structure of Datasets gives such a structure.

        Raises:
          TypeError: if something in it is no Dataset.
        """
        parts = elements.flatten(datasets)
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` "
                    f"objects, not {part!r}."
                )
        spec = Spec(
            elements.pack(datasets, [part.spec.structure for part in parts]),
            [dtype for part in parts for dtype in part.spec.types],
            [shape for part in parts for shape in part.spec.shapes],
        )
        return made("zip_dataset", spec, [part.variant for part in parts])

    @staticmethod
    def from_generator(
        generator, output_types=None, output_shapes=None, args=None, output_signature=None
    ):
        """The elements that a generator of this process yields, anew for each walk.

        Args:
          generator: called without arguments, or with the values of `args` as NumPy has them; gives
            something that can be iterated over.
          output_types: a structure of types.
          output_shapes: a structure of shapes like it; None for unknown ones.
          args: a tuple of Tensors.
          output_signature: instead of types and shapes, a structure of TypeSpecs: of RaggedTensorSpecs and
            SparseTensorSpecs where the generator yields a RaggedTensorValue or a SparseTensorValue.

        Raises:
          TypeError: if the generator can't be called, or there are neither types nor a signature, or both. Steps fail with InvalidArgumentError if it
            yields values of other structures, types or shapes.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        if (output_types is None) == (output_signature is None):
            raise TypeError("Either `output_signature` or `output_types` must be specified")
        if output_signature is None:
            spec = Spec.written(output_types, output_shapes)
        else:
            spec = Spec.from_specs(output_signature)
        walks = GeneratorWalks(generator, spec)
        arguments = [convert(value, name="args") for value in args or ()]
        init = Traced(lambda *ignored: walks.begin(arguments), [Spec((), [], [])], "generator_init")
        number = Spec(Tensor, [dtypes.int64], [TensorShape([])])
        step = Traced(walks.next, [number], "generator_next")
        end = Traced(walks.end, [number], "generator_end")
        variant = gen_ops.generator_dataset(
            init.captured,
            step.captured,
            end.captured,
            init_func=init.name,
            next_func=step.name,
            finalize_func=end.name,
            **spec.attrs(),
        )
        return Dataset(variant, spec)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        """The names of files that match a pattern, or one of several.

        Args:
          file_pattern: a string, a list of strings, or a Tensor of them.
          shuffle: False for the order of names; else they are shuffled in each walk.
          seed: for the same order each time.

        Raises:
          steps fail with InvalidArgumentError if no file matches.
        """
        pattern = convert(file_pattern, dtypes.string, name="file_pattern")
        names = gen_ops.matching_files(pattern)
        found = gen_ops.greater(gen_ops.size(names), 0)
        told = ["No files matched pattern: ", pattern]
        with control_dependencies([Assert(found, told, summarize=1)]):
            names = gen_ops.identity(names)
        dataset = Dataset.from_tensor_slices(names)
        if shuffle is False:
            return dataset
        count = gen_ops.maximum(
            gen_ops.size(names, out_type=dtypes.int64), convert(1, dtypes.int64)
        )
        return dataset.shuffle(count, seed=seed)

    # ---- Which elements --------------------------------------------------------------------------

    def _derived(self, op, *inputs, spec=None, **attrs):
        return made(op, spec or self.spec, self.variant, *inputs, options=self._options, **attrs)

    def take(self, count):
        """The first `count` elements; all if count is -1."""
        return self._derived("take_dataset", _int64(count, "count"))

    def skip(self, count):
        """All but the first `count` elements; none if count is -1."""
        return self._derived("skip_dataset", _int64(count, "count"))

    def repeat(self, count=None):
        """The elements `count` times over; for ever if it is None or -1."""
        return self._derived("repeat_dataset", _int64(-1 if count is None else count, "count"))

    def shard(self, num_shards, index):
        """Every num_shards-th element, from number `index` on. ValueError for impossible numbers."""
        if isinstance(num_shards, int) and num_shards < 1:
            raise ValueError(f"num_shards must be >= 1; got {num_shards}")
        if isinstance(index, int) and isinstance(num_shards, int) and not 0 <= index < num_shards:
            raise ValueError(f"index must be in [0, {num_shards - 1}]; got {index}")
        return self._derived(
            "shard_dataset", _int64(num_shards, "num_shards"), _int64(index, "index")
        )

    def concatenate(self, dataset):
        """The elements of this one, then those of another.

        Raises:
          TypeError: if elements of the two differ in structure, types or classes.
        """
        spec = self.spec.common_with(dataset.spec, "concatenate")
        return self._derived("concatenate_dataset", dataset.variant, spec=spec)

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        """The elements in random order, each chosen from the next `buffer_size` ones.

        Args:
          buffer_size: how many.
          seed: for the same order each time; with tf.set_random_seed as in TensorFlow.
          reshuffle_each_iteration: False to keep the order when the dataset is walked along again.
        """
        return self._derived(
            "shuffle_dataset",
            _int64(buffer_size, "buffer_size"),
            *seed_tensors(seed),
            reshuffle_each_iteration=reshuffle_each_iteration is not False,
        )

    def enumerate(self, start=0):
        """Pairs of a number, from `start` on, and an element."""
        numbers = Dataset.range(start, dtypes.int64.max)
        return Dataset.zip((numbers, self))

    # ---- Elements together -----------------------------------------------------------------------

    def batch(self, batch_size, drop_remainder=False):
        """Groups of elements, stacked; the last may be smaller, or is left out.

        Sparse components make a sparse one with an axis more, of the largest shape; ragged ones, and rows of
        them, a ragged one.
        """
        size, drop = _int64(batch_size, "batch_size"), convert(drop_remainder, dtypes.bool)
        first = _known_size(size) if _is_true(drop) else None
        return self._derived("batch_dataset_v2", size, drop, spec=self.spec.batched(first))

    def padded_batch(
        self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False
    ):
        """Groups of elements, padded to one shape and stacked.

        Args:
          batch_size: how many.
          padded_shapes: a structure like the elements: what to pad each component to; None, or a size
            of None or -1, pads to the longest of the group.
          padding_values: a structure of scalars; None for zeros and "".
          drop_remainder: True to leave out a last group that is too small.

        Raises:
          ValueError: if the structures differ, or a shape does not fit the elements; TypeError: if a
            padding value is of another type, or a component is sparse or ragged.
        """
        structure, spec = self.spec.structure, self.spec
        if spec.has_encoded:
            raise TypeError(
                "Batching of padded sparse and ragged tensors is not supported; map them to Tensors first. "
                f"The elements are {spec.element_spec}."
            )
        if padded_shapes is None:
            wanted = list(spec.shapes)
        else:
            wanted = _parts(structure, padded_shapes)
        shapes = [_padded_shape(want, shape) for want, shape in zip(wanted, spec.shapes)]
        if padding_values is None:
            values = [_default_padding(dtype) for dtype in spec.types]
        elif not elements.is_nested(padding_values):
            values = [padding_values] * len(spec.types)
        else:
            elements.assert_same(structure, padding_values, "structures of padding values")
            values = elements.flatten(padding_values)
        values = [
            _default_padding(dtype) if value is None else convert(value, dtype, "padding_value")
            for value, dtype in zip(values, spec.types)
        ]
        size, drop = _int64(batch_size, "batch_size"), convert(drop_remainder, dtypes.bool)
        first = _known_size(size) if _is_true(drop) else None
        padded = spec.with_shapes([TensorShape([first]).concatenate(known) for _, known in shapes])
        return self._derived(
            "padded_batch_dataset_v2",
            size,
            [written for written, _ in shapes],
            values,
            drop,
            spec=padded,
            infers_types=True,
        )

    def window(self, size, shift=None, stride=1, drop_remainder=False):
        """Groups of `size` elements as datasets; each group begins `shift` elements further."""
        leaves = zip(elements.flatten(self.spec.structure), self.spec.types, self.spec.shapes)
        kinds = [Nested(Spec(kind, [dtype], [shape])) for kind, dtype, shape in leaves]
        count = len(kinds)
        spec = Spec(
            elements.pack(self.spec.structure, kinds),
            [dtypes.variant] * count,
            [TensorShape([])] * count,
        )
        return self._derived(
            "window_dataset",
            _int64(size, "size"),
            _int64(size if shift is None else shift, "shift"),
            _int64(stride, "stride"),
            convert(drop_remainder, dtypes.bool),
            spec=spec,
        )

    def prefetch(self, buffer_size):
        """Up to buffer_size elements are made ahead, while steps run; AUTOTUNE leaves the number open."""
        return self._derived("prefetch_dataset", _int64(buffer_size, "buffer_size"))

    # ---- Functions of elements -------------------------------------------------------------------

    def traced(self, function, kind, specs=None):
        """`function` as a function of the graph that is called with elements."""
        return Traced(function, specs or [self.spec], kind, _variant_of, _nested_dataset)

    def _with_function(self, op, function, *inputs, spec=None, **attrs):
        return self._derived(
            op, function.captured, *inputs, spec=spec or _spec_of(function), **attrs
        )

    def map(self, map_func, num_parallel_calls=None, deterministic=None):
        """What a function gives for each element.

        Args:
          map_func: called with the parts of an element that is a tuple, or with the element; builds
            nodes, which may read Tensors and variables from outside.
          num_parallel_calls: how many elements are worked at, at once; None for one, AUTOTUNE.
          deterministic: False to let elements overtake each other.
        """
        function = self.traced(map_func, "map")
        if num_parallel_calls is None:
            return self._with_function(
                "map_dataset", function, f=function.name, preserve_cardinality=True
            )
        return self._with_function(
            "parallel_map_dataset_v2",
            function,
            _int64(num_parallel_calls, "num_parallel_calls"),
            f=function.name,
            deterministic=_deterministic(deterministic),
            preserve_cardinality=True,
        )

    def flat_map(self, map_func):
        """The elements of the datasets that a function gives for each element, one after the other."""
        function = self._dataset_function(map_func, "flat_map")
        return self._with_function(
            "flat_map_dataset", function, spec=function.returned.spec, f=function.name
        )

    def interleave(
        self,
        map_func,
        cycle_length=AUTOTUNE,
        block_length=1,
        num_parallel_calls=None,
        deterministic=None,
    ):
        """The elements of the datasets that a function gives, several of which take turns.

        Args:
          map_func: gives a Dataset for an element.
          cycle_length: how many datasets take turns; AUTOTUNE for as many as the processors of the task, or a
            third of that if num_parallel_calls is AUTOTUNE too.
          block_length: how many elements each gives in its turn.
          num_parallel_calls: anything but None has the datasets walked along ahead of their turns.
          deterministic: accepted; the order is always the same.
        """
        function = self._dataset_function(map_func, "interleave")
        turns = [_int64(cycle_length, "cycle_length"), _int64(block_length, "block_length")]
        spec = function.returned.spec
        if num_parallel_calls is None:
            return self._with_function(
                "interleave_dataset", function, *turns, spec=spec, f=function.name
            )
        return self._with_function(
            "parallel_interleave_dataset_v3",
            function,
            *turns,
            _int64(num_parallel_calls, "num_parallel_calls"),
            spec=spec,
            f=function.name,
            deterministic=_deterministic(deterministic),
        )

    def _dataset_function(self, map_func, kind):
        function = self.traced(map_func, kind)
        if not isinstance(function.returned, Dataset):
            raise TypeError(
                f"`map_func` must return a `Dataset` object. Got {type(function.returned)}"
            )
        return function

    def filter(self, predicate):
        """The elements for which a function gives True. ValueError if it gives no scalar of bool."""
        function = self.traced(predicate, "filter")
        function.check_scalar(dtypes.bool, "`predicate`")
        return self._with_function(
            "filter_dataset", function, spec=self.spec, predicate=function.name
        )

    def reduce(self, initial_state, reduce_func):
        """What is left when a function has joined all elements to a state, one after the other.

        Args:
          initial_state: a structure of Tensors.
          reduce_func: called with (state, element); gives the next state.

        Returns:
          the last state, a structure of Tensors.

        Raises:
          TypeError: if the function gives another structure, or other types.
        """
        state = elements.converted(initial_state, "state")
        state_spec = Spec.of(state)
        function = self.traced(reduce_func, "reduce", [state_spec.loosened(), self.spec])
        check_state(state_spec, function.spec, "reduce_func")
        made_values = gen_ops.reduce_dataset(
            self.variant,
            state_spec.encoded(state),
            function.captured,
            f=function.name,
            output_types=function.spec.types,
            output_shapes=function.spec.shapes,
        )
        return function.spec.pack(made_values)

    # ---- As a whole ------------------------------------------------------------------------------

    def cache(self, filename=""):
        """The elements of the first walk, kept for those that follow: in memory, or in files.

        Args:
          filename: what the names of the files begin with; they are there once a walk came to its end, also for
            other programs. "" for memory.
        """
        return self._derived("cache_dataset", convert(filename, dtypes.string, name="filename"))

    def unbatch(self):
        """The parts of elements along their first axes, one by one."""
        return self._rows()._derived("unbatch_dataset", spec=self.spec.unbatched())

    def _rows(self):
        """With components that unbatch_dataset can take apart."""
        if not self.spec.has_encoded:
            return self

        def rows(*parts):
            return tuple(self.spec.rows(elements.unpacked_one(parts)))

        function = Traced(rows, [self.spec], "rows", None, lambda tensor, spec: tensor)
        return self._with_function(
            "map_dataset", function, spec=function.spec, f=function.name, preserve_cardinality=True
        )

    def apply(self, transformation_func):
        """What a function of datasets gives for this one. TypeError if that is no Dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError("`transformation_func` must return a Dataset. Got {}.".format(dataset))
        return dataset

    def options(self):
        return self._options

    def with_options(self, options):
        """The same dataset under other Options, which are kept and change nothing here."""
        return Dataset(self.variant, self.spec, self._options.merge(options))

    def make_one_shot_iterator(self):
        """An Iterator that walks along it once and needs no initializer.

        Raises:
          ValueError: if the dataset needs placeholders, variables or tables of the graph.
        """
        try:
            factory = define_by_value(self.variant, "_make_dataset")
        except ValueError as error:
            raise ValueError(
                "Failed to create a one-shot iterator for a dataset. "
                "`Dataset.make_initializable_iterator()` is more appropriate for datasets that "
                f"capture placeholders or state: {error}"
            ) from None
        handle = gen_ops.one_shot_iterator(dataset_factory=factory, **self.spec.attrs())
        return Iterator(handle, None, self.spec, self)

    def make_initializable_iterator(self, shared_name=None):
        """An Iterator whose `initializer` has to run first, and each time to begin anew."""
        with colocate_with(self.variant):
            handle = gen_ops.iterator_v2(
                container="", shared_name=shared_name or "", **self.spec.attrs()
            )
            initializer = gen_ops.make_iterator(self.variant, handle)
        return Iterator(handle, initializer, self.spec, self)


DatasetSpec.value_type = Dataset
register_specs(Dataset, lambda dataset: DatasetSpec(dataset.element_spec))


def check_state(wanted, made_spec, what):
    """TypeError unless a function gives a state like the one that it is given."""
    elements.assert_same(wanted.structure, made_spec.structure, f"states of {what}")
    if wanted.types != made_spec.types or wanted.output_types != made_spec.output_types:
        raise TypeError(
            f"The element types for the new state must match the initial state. Expected "
            f"{wanted.output_types}; got {made_spec.output_types}."
        )


def seed_tensors(seed):
    """The two seeds of a dataset's node; 0 and 0 for random ones."""
    first, second = get_seed(seed)
    return _int64(first or 0, "seed"), _int64(second or 0, "seed2")


def _spec_of(function):
    """The Spec of what a traced function returned, datasets among it."""
    leaves = elements.flatten(function.returned)
    kinds = [
        Nested(leaf.spec) if isinstance(leaf, Dataset) else kind
        for leaf, kind in zip(leaves, elements.flatten(function.spec.structure))
    ]
    return Spec(
        elements.pack(function.spec.structure, kinds), function.spec.types, function.spec.shapes
    )


def _deterministic(value):
    return {None: "default", True: "true", False: "false"}[value]


def _known_size(tensor):
    value = tensor.graph.constant_value(tensor)
    return None if value is None else int(value)


def _is_true(tensor):
    value = tensor.graph.constant_value(tensor)
    return value is not None and bool(value)


def _parts(structure, value):
    """The parts of a structure of shapes: they may be lists and tuples of numbers themselves."""
    if not elements.is_nested(structure):
        return [value]
    if isinstance(structure, dict):
        keys = elements.flatten({key: key for key in structure})
        return [part for key in keys for part in _parts(structure[key], value[key])]
    if not isinstance(value, (tuple, list)) or len(value) != len(structure):
        raise ValueError(f"padded_shapes {value!r} are not built like the elements")
    return [part for each, one in zip(structure, value) for part in _parts(each, one)]


def _padded_shape(wanted, shape):
    """(the shape as a node takes it, the shape that is known of padded elements)."""
    if isinstance(wanted, Tensor):
        return convert(wanted, dtypes.int64), TensorShape([None] * (wanted.shape[0].value or 0))
    known = TensorShape([None if size == -1 else size for size in _sizes(wanted)])
    if known.ndims is None:
        raise ValueError("padded_shapes must be given for components of unknown rank")
    if shape.ndims is not None and known.ndims != shape.ndims:
        raise ValueError(
            f"The padded shape {known} is not compatible with the shape {shape} of the "
            "corresponding input component."
        )
    sizes = [-1 if size is None else size for size in known.as_list()]
    return constant(sizes, dtypes.int64, shape=[len(sizes)], name="padded_shape"), known


def _sizes(wanted):
    if isinstance(wanted, TensorShape):
        return wanted.as_list() if wanted.ndims is not None else [None]
    if hasattr(wanted, "tolist"):
        wanted = wanted.tolist()
    return [getattr(size, "value", size) for size in wanted]


def _default_padding(dtype):
    if dtype == dtypes.string:
        return constant("", dtypes.string, name="padding_value")
    if dtype == dtypes.variant:
        raise TypeError("Unable to create padding for field of type 'variant'")
    return constant(0 if dtype != dtypes.bool else False, dtype, name="padding_value")
