"""Rows of rows.py for gradients of convolutions and dilations, and theirs again."""


from cases import REAL, WIDE, Row, rows_of


def flag(m):
    return bool(m.one_in(2))


def padding(m):
    return m.choice(["SAME", "VALID"])


def out_dim(dim, window, stride, padding, before=0, after=0):
    if padding == "SAME":
        return -(-dim // stride)
    return max(0, (dim + before + after - window) // stride + 1)


def spread(shape, channels_first):
    """Of [batch, ..., channels], where channels stand."""
    return (shape[0], shape[-1], *shape[1:-1]) if channels_first else tuple(shape)


def per_dim(values, channels_first):
    return [1, 1, *values] if channels_first else [1, *values, 1]


# --- convolutions ---


class Convolution:
    """The shapes of one, of any number of dimensions."""

    def __init__(self, m, dims, kinds=("SAME", "VALID"), dilates=True, depthwise=False):
        self.batch, self.inside, self.outside = (int(n) for n in m.rng.integers(1, 4, 3))
        self.sizes = [int(n) for n in m.rng.integers(3, 7, dims)]
        self.windows = [int(n) for n in m.rng.integers(1, 4, dims)]
        self.strides = [int(m.rng.integers(1, 3))] * dims
        self.dilations = [1] * dims
        self.padding = m.choice(kinds)
        # TensorFlow dilates where oneDNN does it for it.
        if dilates and m.dtype == "float32" and self.padding != "EXPLICIT" and m.one_in(2):
            self.strides, self.dilations = [1] * dims, [2] * dims
        self.explicit = [0] * (2 * dims)
        if self.padding == "EXPLICIT":
            self.explicit = [int(n) for n in m.rng.integers(0, 2, 2 * dims)]
        # Windows fit.
        self.sizes = [
            max(size, (w - 1) * d + 1)
            for size, w, d in zip(self.sizes, self.windows, self.dilations)
        ]
        self.depth = self.inside * self.outside if depthwise else self.outside
        self.input = (self.batch, *self.sizes, self.inside)
        self.filter = (*self.windows, self.inside, self.outside)
        self.output = (self.batch, *self.out_sizes(), self.depth)

    def out_sizes(self):
        return [
            out_dim(
                self.sizes[i],
                (self.windows[i] - 1) * self.dilations[i] + 1,
                self.strides[i],
                self.padding,
                *self.explicit[2 * i : 2 * i + 2],
            )
            for i in range(len(self.sizes))
        ]

    def attrs(self):
        made = {"strides": per_dim(self.strides, False), "padding": self.padding}
        if self.padding == "EXPLICIT":
            made["explicit_paddings"] = [0, 0, *self.explicit, 0, 0]
        if max(self.dilations) > 1:
            made["dilations"] = per_dim(self.dilations, False)
        return made


def grown(m, convolution):
    """The gradient of what it makes; now and then of another shape."""
    shape = convolution.output
    if m.one_in(10):
        shape = (*shape[:-1], shape[-1] + 1)
    return m.values(shape)


def to_input(dims, first, size_types=("int32",), **options):
    """`first` names what tells of the input: its sizes, or itself."""

    def make(m):
        of = Convolution(m, dims, **options)
        sizes = of.input
        if m.one_in(12):
            sizes = sizes[1:]
        told = m.integers(sizes, m.choice(size_types)) if "sizes" in first else m.values(of.input)
        inputs = {first: told, "filter": m.values(of.filter), "out_backprop": grown(m, of)}
        return inputs, of.attrs()

    return make


def to_filter(dims, second, **options):
    def make(m):
        of = Convolution(m, dims, **options)
        sizes = of.filter
        if m.one_in(12):
            sizes = sizes[1:]
        told = m.integers(sizes) if "sizes" in second else m.values(of.filter)
        inputs = {"input": m.values(of.input), second: told, "out_backprop": grown(m, of)}
        return inputs, of.attrs()

    return make


def any_convolution(m):
    of = Convolution(m, m.choice([2, 2, 3]), dilates=False)
    inputs = {"input": m.values(of.input), "filter": m.values(of.filter)}
    if m.one_in(8):
        inputs["filter"] = m.values((*of.windows, of.inside + 3, of.outside))
    return inputs, of.attrs()


def dilation(m):
    of = Convolution(m, 2, dilates=False)
    rates = [int(n) for n in m.rng.integers(1, 3, 2)]
    out = [
        out_dim(size, (window - 1) * rate + 1, stride, of.padding)
        for size, window, rate, stride in zip(of.sizes, of.windows, rates, of.strides)
    ]
    channels = of.inside + (1 if m.one_in(12) else 0)
    inputs = {
        "input": m.values(of.input),
        "filter": m.values((*of.windows, channels)),
        "out_backprop": m.values((of.batch, *out, of.inside)),
    }
    attrs = {"strides": per_dim(of.strides, False), "rates": per_dim(rates, False)}
    return inputs, {**attrs, "padding": of.padding}


ANY_PADDING = ("SAME", "VALID", "EXPLICIT")

HALVES = ["float16", "bfloat16"]


def rows(name, make, gradient=True, types=()):
    return [
        Row(name, [*WIDE, *types], make, gradient, 10),
        Row(name, HALVES, make, gradient, 50),
    ]


TABLE = [
    *rows("Conv", any_convolution, types=["int32"]),
    *rows("Conv2DBackpropInput", to_input(2, "input_sizes", kinds=ANY_PADDING), types=["int32"]),
    *rows("Conv2DBackpropFilter", to_filter(2, "filter_sizes", kinds=ANY_PADDING)),
    *rows("Conv3DBackpropInputV2", to_input(3, "input_sizes", ("int32", "int64"), dilates=False)),
    *rows("Conv3DBackpropFilterV2", to_filter(3, "filter_sizes", dilates=False)),
    *rows(
        "DepthwiseConv2dNativeBackpropInput",
        to_input(2, "input_sizes", depthwise=True, dilates=False, kinds=ANY_PADDING),
    ),
    *rows(
        "DepthwiseConv2dNativeBackpropFilter",
        to_filter(2, "filter_sizes", depthwise=True, dilates=False, kinds=ANY_PADDING),
    ),
    Row("Conv3DBackpropInput", WIDE, to_input(3, "input", dilates=False), False, 10),
    Row("Conv3DBackpropInput", ["float16"], to_input(3, "input", dilates=False), False, 50),
    Row("Conv3DBackpropFilter", WIDE, to_filter(3, "filter", dilates=False), False, 10),
    Row("Conv3DBackpropFilter", ["float16"], to_filter(3, "filter", dilates=False), False, 50),
    *rows_of("Dilation2DBackpropInput Dilation2DBackpropFilter", REAL, dilation),
]

_REFUSED = (
    "oneDNN refuses what does not fit, and TensorFlow says so in another code than its own kernels"
)

REASONS = {
    (row.op, "AbortedError in TensorFlow, InvalidArgumentError here"): _REFUSED for row in TABLE
}

_GONE = "TensorFlow has no kernel for it on CPUs"

UNCOMPARED = {"Conv2DBackpropInputV2": _GONE, "Conv2DBackpropFilterV2": _GONE}
