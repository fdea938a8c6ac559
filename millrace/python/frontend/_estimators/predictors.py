"""A Predictor of an Estimator's last checkpoint: calls of it need no new session."""

from millrace._estimators.estimator import Estimator
from millrace._estimators.mode_keys import ModeKeys
from millrace._graph.graph import Graph
from millrace._saved_models.predictors import Predictor
from millrace._saved_models.signature_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from millrace._supervised.monitored_session import MonitoredSession
from millrace._supervised.session_creators import ChiefSessionCreator


def from_estimator(estimator, serving_input_receiver_fn, output_key=None, graph=None, config=None):
    """A Predictor of what an Estimator exports.

    Args:
      estimator: a tf.estimator.Estimator that has trained.
      serving_input_receiver_fn: as for its export_savedmodel: gives a ServingInputReceiver.
      output_key: which of the model's export_outputs; the default one for serving if None.
      graph: an empty Graph to make the model in; a new one if None.
      config: a ConfigProto for the session.

    Raises:
      TypeError: if it is no Estimator; KeyError: if the model has no such output.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"Expected estimator to be of type tf.estimator.Estimator, not {estimator!r}"
        )
    key = output_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    graph = Graph() if graph is None else graph
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        if key not in spec.export_outputs:
            raise KeyError(f"output_key must be one of {sorted(spec.export_outputs)}; got {key}")
        signature = spec.export_outputs[key].as_signature_def(receiver.receiver_tensors)
        creator = ChiefSessionCreator(
            scaffold=spec.scaffold, config=config, checkpoint_dir=estimator.model_dir
        )
        session = MonitoredSession(session_creator=creator)
    feeds, fetches = (
        {name: graph.get_tensor_by_name(info.name) for name, info in infos.items()}
        for infos in (signature.inputs, signature.outputs)
    )
    return Predictor(graph, session, feeds, fetches)
