"""What is known of matrices that are made of others: True, False, or None where nothing is."""


def of_all(operators, hint, given, message):
    """True if all operators have the hint, else what was given. ValueError with the message if it is False."""
    if not all(getattr(operator, hint) for operator in operators):
        return given
    if given is False:
        raise ValueError(message)
    return True


def of_same(operator, hint, given, what):
    """A hint that holds for what is made of an operator exactly if it holds for that one.

    Raises:
      ValueError: if what is given contradicts it.
    """
    known = getattr(operator, hint)
    if None not in (known, given) and known != given:
        raise ValueError(
            f"{hint}={given} contradicts its operator's {known}: an operator is "
            f"{hint.removeprefix('is_').replace('_', '-')} if and only if its {what} is"
        )
    return known if given is None else given


def are_non_singular(left, right):
    """Whether the product of two is."""
    if left.is_non_singular is False or right.is_non_singular is False:
        return False
    return left.is_non_singular and right.is_non_singular


def is_square(left, right):
    """Whether the product of two is."""
    first, second = left.is_square, right.is_square
    if first and second:
        return True
    if first is False and second is False:
        return left.range_dimension == right.domain_dimension
    return False if None not in (first, second) else None


def of_product(left, right):
    """The hints of the product of any two, by the names that constructors take."""
    square = is_square(left, right)
    if square is False:
        no = dict.fromkeys(["is_non_singular", "is_self_adjoint", "is_positive_definite"], False)
        return {**no, "is_square": False}
    return {"is_non_singular": square and are_non_singular(left, right), "is_square": square}


def of_commuting(left, right):
    """The hints of the product of two square ones that may change places."""
    adjoint = frozenset([left.is_self_adjoint, right.is_self_adjoint])
    positive = (
        left.is_positive_definite and right.is_positive_definite and adjoint == frozenset([True])
    )
    return {
        "is_non_singular": are_non_singular(left, right),
        "is_self_adjoint": {frozenset([True]): True, frozenset([True, False]): False}.get(adjoint),
        "is_positive_definite": positive or None,
        "is_square": True,
    }


def of(operator, **others):
    """The hints of an operator, as they are but for others."""
    return {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
        "is_square": operator.is_square,
        **others,
    }
