"""Distributions by parameters of any sign, which a function makes positive first."""

import inspect

from millrace import _gen as gen_ops
from millrace._distributions.gammas import Beta, Exponential, Gamma, StudentT
from millrace._distributions.scalars import Laplace, Normal
from millrace._distributions.tails import Chi2, InverseGamma
from millrace._distributions.vectors import MultivariateNormalDiag
from millrace._graph.conversion import convert


def _softplus(x):
    return gen_ops.softplus(convert(x))


def _whole_size(x):
    return gen_ops.floor(gen_ops.abs(convert(x)))


def _changed(base, name, **functions):
    """A class like `base` that calls functions of some parameters, by name, before it takes them."""
    own = inspect.signature(base.__init__)
    renamed = [
        each.replace(default=name) if key == "name" else each
        for key, each in own.parameters.items()
    ]
    signature = own.replace(parameters=renamed)

    def __init__(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        made = {
            key: None if given[key] is None else make(given[key]) for key, make in functions.items()
        }
        base.__init__(self, **{**given, **made})
        self._parameters = given

    __init__.__signature__ = signature
    told = ", ".join(
        f"{key} = {make.__name__.strip('_')}({key})" for key, make in functions.items()
    )
    doc = f"""{base.__name__} with {told}, so that any number will do.

    Args and errors: as for {base.__name__}.
    """
    return type(name, (base,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


BetaWithSoftplusConcentration = _changed(
    *(Beta, "BetaWithSoftplusConcentration"), concentration1=_softplus, concentration0=_softplus
)
Chi2WithAbsDf = _changed(Chi2, "Chi2WithAbsDf", df=_whole_size)
ExponentialWithSoftplusRate = _changed(Exponential, "ExponentialWithSoftplusRate", rate=_softplus)
GammaWithSoftplusConcentrationRate = _changed(
    *(Gamma, "GammaWithSoftplusConcentrationRate"), concentration=_softplus, rate=_softplus
)
InverseGammaWithSoftplusConcentrationRate = _changed(
    *(InverseGamma, "InverseGammaWithSoftplusConcentrationRate"),
    concentration=_softplus,
    rate=_softplus,
)
LaplaceWithSoftplusScale = _changed(Laplace, "LaplaceWithSoftplusScale", scale=_softplus)
MultivariateNormalDiagWithSoftplusScale = _changed(
    *(MultivariateNormalDiag, "MultivariateNormalDiagWithSoftplusScale"), scale_diag=_softplus
)
NormalWithSoftplusScale = _changed(Normal, "NormalWithSoftplusScale", scale=_softplus)
StudentTWithAbsDfSoftplusScale = _changed(
    *(StudentT, "StudentTWithAbsDfSoftplusScale"), df=_whole_size, scale=_softplus
)
