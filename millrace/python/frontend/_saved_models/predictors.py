"""Predictors: functions from arrays to arrays, by a signature of a model that is loaded once."""

from millrace._graph.graph import Graph
from millrace._run.session import Session
from millrace._saved_models import loader
from millrace._saved_models.signature_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY

_OF_OLD_EXPORTS = "default_input_alternative:{}"


class Predictor:
    """Calls of it run a session: predictor({"x": array}) gives {name: array}.

    Attributes:
      graph: its Graph.
      session: its session; whoever has made the predictor closes it.
      feed_tensors, fetch_tensors: {name: Tensor} of inputs and outputs.
    """

    def __init__(self, graph, session, feed_tensors, fetch_tensors):
        self._graph, self._session = graph, session
        self._feed_tensors, self._fetch_tensors = feed_tensors, fetch_tensors

    @property
    def graph(self):
        return self._graph

    @property
    def session(self):
        return self._session

    @property
    def feed_tensors(self):
        return self._feed_tensors

    @property
    def fetch_tensors(self):
        return self._fetch_tensors

    def __repr__(self):
        return (
            f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors "
            f"{self._fetch_tensors}"
        )

    def __call__(self, input_dict):
        """{name: array} of the outputs.

        Args:
          input_dict: {name: value} of inputs; those with None, and those that have a value of their own in
            the graph, may be left out.

        Raises:
          ValueError: for names that are no inputs.
        """
        unknown = set(input_dict) - set(self._feed_tensors)
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {sorted(unknown)}\nexpected: {sorted(self._feed_tensors)}"
            )
        feeds = {
            self._feed_tensors[name]: value
            for name, value in input_dict.items()
            if value is not None
        }
        return self._session.run(self._fetch_tensors, feeds)


class SavedModelPredictor(Predictor):
    """A Predictor of a SavedModel, which is loaded into a session of its own.

    Args:
      export_dir: the model's folder.
      signature_def_key: the signature; the default one for serving if None.
      signature_def: a SignatureDef in place of one of the model's.
      input_names, output_names: {name: name of a Tensor}, both in place of a signature.
      tags: the tags of the graph, with commas in between; "serve" if None.
      graph: an empty Graph to load it into; a new one if None.
      config: a ConfigProto for the session.

    Raises:
      OSError: if there is no model. RuntimeError: if it has no graph with these tags. ValueError: if it has no such
        signature, or more than one of the three ways to name inputs is given, or names of one side alone.
    """

    def __init__(
        self,
        export_dir,
        signature_def_key=None,
        signature_def=None,
        input_names=None,
        output_names=None,
        tags=None,
        graph=None,
        config=None,
    ):
        if (input_names is None) != (output_names is None):
            raise ValueError(
                "input_names and output_names must both be specified or both be unspecified."
            )
        if [signature_def_key, signature_def, input_names].count(None) < 2:
            raise ValueError(
                "You must specify at most one of signature_def_key OR signature_def OR (input_names AND "
                "output_names)."
            )
        graph = Graph() if graph is None else graph
        with graph.as_default():
            session = Session(config=config)
            wanted = [tag.strip() for tag in (tags or "serve").split(",")]
            meta_graph = loader.load(session, wanted, export_dir)
        if input_names is None:
            if signature_def is None:
                signature_def = _signature(meta_graph, signature_def_key)
            input_names = {name: info.name for name, info in signature_def.inputs.items()}
            output_names = {name: info.name for name, info in signature_def.outputs.items()}
        feeds, fetches = (
            {name: graph.get_tensor_by_name(tensor) for name, tensor in names.items()}
            for names in (input_names, output_names)
        )
        super().__init__(graph, session, feeds, fetches)


def _signature(meta_graph, key):
    key = key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    for name in (key, _OF_OLD_EXPORTS.format(key)):
        if name in meta_graph.signature_def:
            return meta_graph.signature_def[name]
    raise ValueError(
        f'Got signature_def_key "{key}". Available signatures are {sorted(meta_graph.signature_def)}.'
    )


from_saved_model = SavedModelPredictor
