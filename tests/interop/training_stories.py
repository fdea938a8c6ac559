"""Stories of optimizers: variables are made, an op applies a gradient to them, and all of them are read.

OPTIMIZERS has one line each: its variables, what the op takes besides them, in which forms it comes, its types.
"""

import dataclasses

from cases import COMPLEX, StoryRow, WIDE
from variable_stories import read, reference, resource

NARROW = ["float16", "bfloat16"]

# What a scalar may be: with these an optimizer gives numbers.
RANGES = {
    "alpha": (0.1, 1),
    "beta": (0.5, 0.9),
    "beta1": (0.5, 0.9),
    "beta1_power": (0.3, 0.8),
    "beta2": (0.5, 0.9),
    "beta2_power": (0.3, 0.8),
    "epsilon": (0.1, 0.5),
    "l1": (0, 1),
    "l2": (0, 1),
    "l2_shrinkage": (0, 0.5),
    "logbase": (0.5, 1),
    "lr": (0.1, 1),
    "lr_power": (-0.8, -0.2),
    "momentum": (0, 1),
    "rho": (0.5, 0.9),
    "sign_decay": (0.5, 1),
}

# Slots that may be of either sign; sums of squares are not.
SIGNED_SLOTS = {
    "accum of Momentum": (-2, 2),
    "gradient_accumulator": (-2, 2),
    "linear": (-3, 3),
    "m": (-2, 2),
    "mg": (-0.5, 0.5),
    "mom": (-2, 2),
}


@dataclasses.dataclass
class Optimizer:
    variables: str
    inputs: str
    flag: str = ""
    forms: str = "Apply ResourceApply SparseApply ResourceSparseApply"
    types: tuple = (*WIDE, *COMPLEX, *NARROW)


REAL = (*WIDE, *NARROW)
DENSE = "Apply ResourceApply"

OPTIMIZERS = {
    "Adadelta": Optimizer("var accum accum_update", "lr rho epsilon grad"),
    "Adagrad": Optimizer("var accum", "lr grad", "update_slots"),
    "AdagradDA": Optimizer(
        "var gradient_accumulator gradient_squared_accumulator",
        "grad lr l1 l2 global_step",
        types=WIDE,
    ),
    "AdagradV2": Optimizer("var accum", "lr epsilon grad", "update_slots"),
    "AdaMax": Optimizer(
        "var m v", "beta1_power lr beta1 beta2 epsilon grad", forms=DENSE, types=REAL
    ),
    "Adam": Optimizer(
        "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", "use_nesterov", DENSE
    ),
    "AdamWithAmsgrad": Optimizer(
        "var m v vhat",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
        forms="ResourceApply",
        types=REAL,
    ),
    "AddSign": Optimizer("var m", "lr alpha sign_decay beta grad", forms=DENSE, types=REAL),
    "CenteredRMSProp": Optimizer("var mg ms mom", "lr rho momentum epsilon grad"),
    "Ftrl": Optimizer(
        "var accum linear", "grad lr l1 l2 lr_power", "multiply_linear_by_lr", types=REAL
    ),
    "FtrlV2": Optimizer(
        "var accum linear",
        "grad lr l1 l2 l2_shrinkage lr_power",
        "multiply_linear_by_lr",
        types=REAL,
    ),
    "GradientDescent": Optimizer("var", "alpha delta", forms=DENSE),
    "KerasMomentum": Optimizer(
        "var accum", "lr grad momentum", "use_nesterov", "ResourceApply ResourceSparseApply"
    ),
    "Momentum": Optimizer("var accum", "lr grad momentum", "use_nesterov"),
    "PowerSign": Optimizer("var m", "lr logbase sign_decay beta grad", forms=DENSE, types=REAL),
    "ProximalAdagrad": Optimizer("var accum", "lr l1 l2 grad", types=WIDE),
    "ProximalGradientDescent": Optimizer("var", "alpha l1 l2 delta", types=WIDE),
    "RMSProp": Optimizer("var ms mom", "lr rho momentum epsilon grad"),
}


def slot_range(optimizer, name):
    if name == "var":
        return -3, 3
    kept = f"{name} of Momentum" if "momentum" in optimizer.inputs else name
    return SIGNED_SLOTS.get(kept, SIGNED_SLOTS.get(name, (0.25, 3)))


def variables(m, form, optimizer, shape, wrong):
    make = resource if form.startswith("Resource") else reference
    names = optimizer.variables.split()
    odd = m.choice(names)
    made = {}
    for name in names:
        is_odd = name == odd and wrong in ("slot", "unset")
        if wrong == "slot" and name == "var" and "Sparse" in form:
            is_odd = False  # TensorFlow dies of a gradient with fewer axes than the variable
        own = (*shape, 2) if is_odd and wrong == "slot" else shape
        value = m.values(own, *slot_range(optimizer, name))
        made[name] = make(m, own, None if is_odd and wrong == "unset" else value)
    return made


def scalar(m, name, wrong):
    if name == "global_step":
        steps = m.integers(m.rng.integers(0 if wrong == "sign" else 1, 9), "int64")
        return (steps[0], steps[1].reshape(1)) if wrong == "rank" else steps
    low, high = RANGES[name]
    if m.one_in(5):
        low = high = -0.5 if name == "lr_power" else 1 if low else 0
    if wrong == "sign":
        low, high = m.choice([sorted((-high, -high / 2)), (0, 0)])
    return m.values((1,) if wrong == "rank" else (), low, high)


def rows(m, shape, wrong):
    """(a gradient of some rows, which they are)"""
    number = int(m.rng.integers(0, 5)) if shape and shape[0] else 0
    indices = m.indices((number,), shape[0] if shape else 1)
    if wrong == "index" and number:
        indices[1][m.rng.integers(number)] = m.choice([-1, shape[0]])
    if wrong == "rank of indices":
        indices = indices[0], indices[1].reshape(-1, 1)
    is_odd = wrong == "number" or (wrong == "gradient" and len(shape) < 2)
    of = [number + 1 if is_odd else number, *shape[1:]]
    if wrong == "gradient" and not is_odd:
        of[-1] += 1
    return m.values(of), indices


SLIPS = ["slot", "unset", "rank", "gradient", "sign", "sign"]
ROW_SLIPS = [*SLIPS, "index", "number", "rank of indices"]


def inputs(m, form, optimizer, shape, wrong):
    names = optimizer.inputs.split()
    odd = m.choice([name for name in names if name not in ("grad", "delta")])
    for name in names:
        if name not in ("grad", "delta"):
            yield name, scalar(m, name, wrong if name == odd else None)
        elif "Sparse" in form:
            gradient, indices = rows(m, shape, wrong)
            yield "grad", gradient
            yield "indices", indices
        else:
            yield name, m.values((*shape, 1) if wrong == "gradient" else shape)


def training_story(m, form, name):
    optimizer = OPTIMIZERS[name]
    is_sparse = "Sparse" in form
    shape = m.shape(ranks=(0, 1, 2, 3) if m.one_in(8) or not is_sparse else (1, 2, 3))
    slips = ROW_SLIPS if is_sparse else SLIPS
    if name.startswith("Ftrl") and not is_sparse:
        slips = [slip for slip in slips if slip != "sign"]  # TensorFlow's goes on with any
    wrong = m.choice(slips) if m.one_in(4) else None
    made = variables(m, form, optimizer, shape, wrong)
    for _ in range(m.choice([1, 1, 2])):
        attrs = {optimizer.flag: bool(m.one_in(2))} if optimizer.flag else {}
        if m.one_in(3):
            attrs["use_locking"] = True
        given = dict(inputs(m, form, optimizer, shape, wrong))
        m.call(f"{form}{name}", {**made, **given}, **attrs)
    # Rows before the one that is not there may have been updated in TensorFlow.
    for variable in made.values() if wrong != "index" else ():
        read(m, variable, form.startswith("Resource"))


def row_of(form, name):
    return StoryRow(
        f"{form}{name}",
        [*OPTIMIZERS[name].types],
        lambda m: training_story(m, form, name),
        # TensorFlow rounds narrow types at each step.
        tolerance=10,
    )


TABLE = [
    row_of(form, name) for name, optimizer in OPTIMIZERS.items() for form in optimizer.forms.split()
]
