"""RaggedTensor with its operators, and known to the functions of Tensors: what public modules take it from."""

from millrace._ragged import elementwise, gathers, getitem, joining, reductions
from millrace._ragged.tensor import RaggedTensor
from millrace._ragged.values import RaggedTensorValue

# Functions and ops that compute each element by itself.
_OF_ELEMENTS = (
    "as_string cast clip_by_value complex divide identity multiply negative not_equal equal "
    "ones_like round saturate_cast sigmoid stop_gradient subtract tanh zeros_like to_double to_float "
    "to_int32 to_int64 logical_xor true_divide python2_divide add_n pow "
    "Abs Acos Acosh Add AddN AddV2 Angle Asin Asinh Atan Atan2 Atanh AsString BitwiseAnd BitwiseOr "
    "BitwiseXor Cast Ceil CheckNumerics Complex ComplexAbs Conj Cos Cosh DecodeBase64 DecodeRaw Digamma Div "
    "DivNoNan EncodeBase64 Equal Erf Erfc Exp Expm1 Floor FloorDiv FloorMod Greater GreaterEqual Identity "
    "Imag Invert IsFinite IsInf IsNan LeftShift Less LessEqual Lgamma Log Log1p LogicalAnd LogicalNot "
    "LogicalOr Maximum Minimum Mod Mul Neg NotEqual OnesLike Pow Real RealDiv Reciprocal RegexFullMatch "
    "RegexReplace Relu RightShift Rint Round Rsqrt SelectV2 Sigmoid Sign Sin Sinh Sqrt Square "
    "SquaredDifference StaticRegexFullMatch StaticRegexReplace StopGradient StringJoin StringLength "
    "StringLower StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong "
    "StringToNumber StringUpper Sub Substr Tan Tanh TruncateDiv TruncateMod UnicodeScript "
    "UnicodeTranscode Xdivy Xlogy ZerosLike"
).split()


def _called(function):
    """A function of ours in the place of the one of Tensors, with its arguments."""
    return lambda _, args, kwargs: function(*args, **kwargs)


def _install():
    takers = RaggedTensor.takers
    takers.update(dict.fromkeys(_OF_ELEMENTS, elementwise.take_elementwise))
    takers.update(dict.fromkeys(reductions.NAMES, reductions.reduced))
    for module, names in (
        (gathers, ["gather", "gather_nd", "where"]),
        (joining, ["concat", "expand_dims", "one_hot", "rank", "size", "squeeze", "stack", "tile"]),
    ):
        for name in names:
            takers[name] = _called(getattr(module, name))
    takers["Select"] = takers["where"]  # the op, by which tf.where chooses
    for op in reductions.SEGMENT_OPS:
        takers[op] = reductions.fold_of(op)
    elementwise.install()
    RaggedTensor.__getitem__ = getitem.part_of


_install()

__all__ = ["RaggedTensor", "RaggedTensorValue"]
