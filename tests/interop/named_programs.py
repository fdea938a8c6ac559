"""Functions of many modules beside each other, the same text for TensorFlow and for Millrace.

`python3 named_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what its functions
give. Run by test_names_beside_tensorflow.py.
"""

import numpy as np

from numeric_programs import plain
from programs import print_results


def wave(count):
    places = np.arange(count)
    return (np.sin(places * 0.7) + 0.3 * np.cos(places * 2.1)).astype(np.float32)


def with_gradient(tf, session, function, value):
    """What a function gives, and the gradient of a weighed sum of it by its argument."""
    x = tf.constant(value)
    made = function(x)
    shape = session.run(made).shape
    assert made.shape.is_compatible_with(shape)
    weights = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)
    real = tf.real(made) + tf.imag(made) if made.dtype.is_complex else made
    total = tf.reduce_sum(real * tf.cast(weights, real.dtype))
    gradient = tf.convert_to_tensor(tf.gradients(total, [x])[0])
    return [plain(each) for each in session.run([made, gradient])]


def signals(tf, session):
    signal = tf.signal
    line, pair = wave(23), wave(44).reshape(2, 22)
    results = {}
    for name, function in {
        "frame": lambda x: signal.frame(x, 5, 3),
        "frame padded": lambda x: signal.frame(x, 5, 3, pad_end=True, pad_value=2),
        "frame first axis": lambda x: signal.frame(x, 1, 1, axis=0),
        "add": lambda x: signal.overlap_and_add(tf.reshape(x, [2, 2, 11]), 4),
        "stft": lambda x: signal.stft(x, 6, 3),
        "stft padded": lambda x: signal.stft(x, 7, 2, fft_length=10, pad_end=True),
        "there and back": lambda x: signal.inverse_stft(
            signal.stft(x, 8, 4), 8, 4, window_fn=signal.inverse_stft_window_fn(4)
        ),
        "plain inverse": lambda x: signal.inverse_stft(
            signal.stft(x, 8, 3, window_fn=None), 8, 3, window_fn=None
        ),
        "longer frames": lambda x: signal.inverse_stft(signal.stft(x, 8, 3, 8), 10, 3, 8),
        "mfccs": signal.mfccs_from_log_mel_spectrograms,
        "shift": signal.fftshift,
        "shift back": lambda x: signal.ifftshift(x, axes=[1]),
    }.items():
        results[name] = with_gradient(tf, session, function, pair)
    results["odd shift"] = plain(session.run([signal.fftshift(line), signal.ifftshift(line, 0)]))
    windows = [
        window(length, periodic=periodic)
        for window in (signal.hann_window, signal.hamming_window)
        for length in (1, 4, 5, 8)
        for periodic in (True, False)
    ]
    results["windows"] = plain(session.run(windows))
    matrices = [
        signal.linear_to_mel_weight_matrix(dtype=tf.float64),
        signal.linear_to_mel_weight_matrix(5, 33, 16000, 20.0, 7000.0, tf.float64),
    ]
    results["bands"] = plain(session.run(matrices))
    return results


def decays(tf, session):
    step = tf.placeholder(tf.int64, [])
    train = tf.train
    rates = {
        "restarts": train.cosine_decay_restarts(0.1, step, 4),
        "restarts alike": train.cosine_decay_restarts(0.1, step, 4, 1.0, 0.9, 0.1),
        "restarts lower": train.cosine_decay_restarts(0.1, step, 3, 1.5, 0.5, alpha=0.2),
        "linear": train.linear_cosine_decay(0.1, step, 10),
        "linear waves": train.linear_cosine_decay(0.1, step, 10, 2.0, 0.1, 0.01),
        "noiseless": train.noisy_linear_cosine_decay(0.1, step, 10, initial_variance=0.0),
    }
    return {
        name: [plain(session.run(rate, {step: at})) for at in (0, 1, 3, 4, 7, 11, 13, 30)]
        for name, rate in rates.items()
    }


def pictures(*shape):
    size = int(np.prod(shape))
    return (0.5 + 0.5 * np.sin(np.arange(size) ** 1.5)).astype(np.float32).reshape(shape)


def images(tf, session):
    image = tf.image
    pair = pictures(2, 13, 14, 3)
    other = np.clip(pair + 0.1 * pictures(2, 13, 14, 3)[:, ::-1], 0, 1)
    results = {}
    for name, function in {
        "psnr": lambda x: image.psnr(x, other, 1.0),
        "ssim": lambda x: image.ssim(x, other, 1.0),
        "small ssim": lambda x: image.ssim(x, other, 1.0, 5, 0.8, 0.02, 0.05),
        "scales": lambda x: image.ssim_multiscale(x, other, 1.0, (0.3, 0.7), 4),
        "odd scales": lambda x: image.ssim_multiscale(x, other, 1.0, (0.3, 0.3, 0.4), 3),
        "edges": image.sobel_edges,
        "down": lambda x: image.image_gradients(x)[0],
        "across": lambda x: image.image_gradients(x)[1],
        "variation": image.total_variation,
        "variation of one": lambda x: image.total_variation(x[0]),
        "to yiq": image.rgb_to_yiq,
        "to yuv": image.rgb_to_yuv,
        "from yiq": image.yiq_to_rgb,
        "from yuv": image.yuv_to_rgb,
        "gamma": lambda x: image.adjust_gamma(x + 0.01, 0.7, 1.3),
        "transposed": image.transpose,
        "wide": lambda x: image.resize_image_with_pad(x, 5, 20),
        "high": lambda x: image.resize_image_with_pad(x[0], 31, 9),
        "patches": lambda x: image.extract_patches(
            x, [1, 3, 3, 1], [1, 2, 2, 1], rates=[1, 2, 1, 1], padding="SAME"
        ),
    }.items():
        results[name] = with_gradient(tf, session, function, pair)
    whole = (pair[0] * 255).astype(np.uint8)
    fed = tf.placeholder(tf.uint8)
    fed.set_shape([None, None, 3])
    made = {
        "whole psnr": image.psnr(whole, whole[::-1], 255),
        "whole ssim": image.ssim(whole, whole[::-1], 255),
        "whole gamma": image.adjust_gamma(whole, 2.0),
        "fed gamma": image.adjust_gamma(fed, tf.constant(0.5)),
        "fed pad": image.resize_image_with_pad(fed, 6, 21, method=1),
        "fed variation": image.total_variation(tf.cast(fed, tf.int32)),
        "fed ssim": image.ssim(fed, fed[::-1], 255, filter_size=3),
    }
    results.update({n: plain(session.run(value, {fed: whole})) for n, value in made.items()})
    boxes = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]
    padded = image.non_max_suppression_padded(
        tf.constant(boxes, tf.float32), [0.9, 0.8, 0.7], 4, pad_to_max_output_size=True
    )
    results["boxes"] = [plain(each) for each in session.run(padded)]
    return results


def measures(tf, session):
    metrics = tf.metrics
    scores = tf.placeholder(tf.float32, [3, 5])
    labels = tf.constant([[0, 3], [1, 2], [4, 4]], tf.int64)
    single = tf.constant([3, 1, 4], tf.int64)
    sparse = tf.SparseTensor(
        [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]],
        tf.constant([0, 3, 9, 1, 2, 4], tf.int64),
        [3, 3],
    )
    weights = [[0.5], [2.0], [1.0]]
    chances = tf.placeholder(tf.float32, [8])
    truth = [True, False, True, True, False, False, True, False]
    each = [1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0]
    rows = tf.placeholder(tf.float32, [3, 4])
    with tf.variable_scope("m"):
        made = {
            "recall": metrics.recall_at_k(labels, scores, 2),
            "recall of one": metrics.recall_at_k(single, scores, 2, weights=[1.0, 0.5, 2.0]),
            "recall sparse": metrics.recall_at_k(sparse, scores, 3),
            "recall of a class": metrics.recall_at_k(labels, scores, 3, class_id=3),
            "recall top": metrics.recall_at_top_k(
                labels, tf.constant([[0, 1], [2, 3], [4, 0]], tf.int64)
            ),
            "precision": metrics.precision_at_k(labels, scores, 2, weights=[1.0, 0.5, 2.0]),
            "precision of a class": metrics.precision_at_k(sparse, scores, 3, class_id=4),
            "precision top": metrics.precision_at_top_k(
                sparse, tf.constant([[0, 1], [2, 3], [4, 0]], tf.int64), k=2
            ),
            "older": metrics.sparse_precision_at_k(sparse, scores, 2),
            "average": metrics.average_precision_at_k(labels, scores, 3),
            "average sparse": metrics.average_precision_at_k(
                sparse, scores, 4, weights=[1.0, 0.5, 2.0]
            ),
            "average older": metrics.sparse_average_precision_at_k(single, scores, 2),
            "sensitivity": metrics.sensitivity_at_specificity(
                truth, chances, 0.6, num_thresholds=20
            ),
            "weighed": metrics.sensitivity_at_specificity(truth, chances, 0.7, each, name="w"),
            "specificity": metrics.specificity_at_sensitivity(
                truth, chances, 0.5, num_thresholds=20
            ),
            "specificity weighed": metrics.specificity_at_sensitivity(truth, chances, 0.8, each),
            "cosine": metrics.mean_cosine_distance(pictures(3, 4), rows, 1),
            "cosine weighed": metrics.mean_cosine_distance(pictures(3, 4), rows, 1, weights),
        }
    session.run(tf.local_variables_initializer())
    results = {name: [] for name in made}
    for seed in (0, 1, 2):
        random = np.random.RandomState(seed)
        fed = {
            scores: random.uniform(size=(3, 5)),
            chances: random.uniform(size=8),
            rows: random.uniform(size=(3, 4)),
        }
        updates = session.run({name: update for name, (_, update) in made.items()}, fed)
        values = session.run({name: value for name, (value, _) in made.items()})
        for name in made:
            # A class that nobody predicted has no precision yet: nan, which is not equal to itself.
            results[name].append(plain(np.nan_to_num([updates[name], values[name]], nan=-1.0)))
    # In TensorFlow a node by the name of Max is before the variable max.
    names = (v.op.name for v in tf.local_variables())
    results["names"] = sorted(name for name in names if "/max" not in name)
    return results


def networks(tf, session):
    nn = tf.nn
    block = pictures(3, 4, 6, 2)
    weights = pictures(4, 1, 2)
    volume = lambda x: tf.reshape(x, [2, 3, 4, 3, 2])
    line = lambda x: tf.reshape(x, [3, 12, 4])
    results = {}
    for name, function in {
        "moments": lambda x: tf.stack(nn.weighted_moments(x, [0, 2], weights)),
        "kept moments": lambda x: nn.weighted_moments(x, [1], weights[..., :1], keep_dims=True)[1],
        "sums": lambda x: tf.stack(nn.sufficient_statistics(x, [0, 1])[1:3]),
        "shifted": lambda x: tf.stack(
            nn.normalize_moments(*nn.sufficient_statistics(x, [0, 3], shift=0.3))
        ),
        "largest": lambda x: nn.max_pool_v2(x, 2, 1, "SAME"),
        "means of volumes": lambda x: nn.avg_pool_v2(volume(x), [1, 2, 2], 2, "VALID"),
        "largest of lines": lambda x: nn.max_pool_v2(line(x), 3, 2, "SAME"),
        "transposed": lambda x: nn.conv_transpose(x, pictures(3, 3, 5, 2), [3, 8, 12, 5], 2),
        "transposed lines": lambda x: nn.conv_transpose(
            line(x), pictures(3, 2, 4), [3, 24, 2], strides=2
        ),
        "counts": lambda x: nn.log_poisson_loss(3 * block, x),
        "all of counts": lambda x: nn.log_poisson_loss(3 * block, x, compute_full_loss=True),
        "blocks": lambda x: nn.space_to_depth(nn.depth_to_space(tf.tile(x, [1, 1, 1, 2]), 2), 4),
        "mean loss": lambda x: nn.compute_average_loss(x[:, 0, 0, 0], [1.0, 2.0, 3.0], 4),
        "filters": lambda x: nn.conv3d_backprop_filter(
            volume(x), [1, 1, 1, 2, 2], volume(x), [1] * 5, "SAME"
        ),
        "windows": lambda x: nn.fractional_max_pool(
            x, [1, 1.5, 1.5, 1], True, deterministic=True, seed=3, seed2=4
        )[0],
    }.items():
        results[name] = with_gradient(tf, session, function, block)
    logits, dense = pictures(5, 3, 4) * 3, tf.constant([[1, 1, 0], [3, 2, 1], [2, 0, 0]])
    lengths, steps = tf.constant([2, 3, 1]), tf.constant([5, 4, 3])
    sparse = tf.SparseTensor([[0, 0], [1, 0], [1, 1], [2, 0]], tf.constant([1, 2, 0, 2]), [3, 2])
    for name, function in {
        "ctc dense": lambda x: nn.ctc_loss_v2(dense, x, lengths, steps),
        "ctc middle": lambda x: nn.ctc_loss_v2(sparse, x, None, steps, blank_index=3),
        "ctc end": lambda x: nn.ctc_loss_v2(sparse, x, None, steps, blank_index=-1),
        "ctc other": lambda x: nn.ctc_loss_v2(
            tf.SparseTensor(sparse.indices, sparse.values + 1, [3, 2]),
            x,
            None,
            steps,
            blank_index=0,
        ),
        "ctc batch first": lambda x: nn.ctc_loss_v2(
            dense, tf.transpose(x, [1, 0, 2]), lengths, steps, logits_time_major=False
        ),
    }.items():
        results[name] = with_gradient(tf, session, function, logits)
    repeated = tf.constant([[1, 1, 2, 2, 1], [3, 3, 3, 1, 0], [0, 0, 2, 2, 2]])
    left = nn.collapse_repeated(repeated, tf.constant([5, 4, 2]))
    results["repeated"] = [plain(each) for each in session.run(left)]
    return results


def drained(tf, session, dataset, most=60):
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    try:
        while len(found) < most:
            found.append(session.run(element))
    except tf.errors.OutOfRangeError:
        found.append(-1)
    return [plain(each) for each in found]


def datasets(tf, session):
    data, experimental = tf.data.Dataset, tf.data.experimental
    parts = [data.range(3), data.range(10, 30), data.range(100, 107)]
    places = data.from_tensor_slices(np.array([0, 2, 2, 0, 0, 0, 1, 0, 1, 2]))
    reducer = experimental.Reducer(
        lambda key: tf.constant(1, tf.int64), lambda state, x: state * x, lambda state: state + 1000
    )
    made = {
        "chosen": experimental.choose_from_datasets(parts, places),
        "chosen to the end": experimental.choose_from_datasets(parts, places.repeat()),
        "drawn": experimental.sample_from_datasets(parts, [0.2, 0.5, 0.3], seed=11),
        "drawn alike": experimental.sample_from_datasets(parts, seed=4),
        "reduced": data.range(1, 12).apply(experimental.group_by_reducer(lambda x: x % 4, reducer)),
    }
    results = {name: drained(tf, session, dataset) for name, dataset in made.items()}
    results["reduced"].sort()
    return results


def distributions(tf, session):
    chance = tf.distributions
    loc, other = np.float32([-1.0, 0.3, 2.0]), np.float32([[0.5], [1.5]])
    shares = np.float32([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    pairs = {
        "normal": [chance.Normal(loc, other), chance.Normal(0.5, 2.0)],
        "laplace": [chance.Laplace(loc, other)],
        "student": [chance.StudentT(np.float32([[0.5, 1.5, 4.0]] * 2), loc, other)],
        "uniform": [chance.Uniform(loc, loc + other)],
        "gamma": [chance.Gamma(np.float32([0.5, 1.5, 3.0]), other), chance.Gamma(2.0, 1.5)],
        "exponential": [chance.Exponential(other), chance.Exponential(0.7)],
        "beta": [
            chance.Beta(np.float32([[0.5, 1.5, 3.0]] * 2), other + 0 * loc),
            chance.Beta(2.0, 1.5),
        ],
        "dirichlet": [chance.Dirichlet(shares * 6), chance.Dirichlet(np.float32([1.0, 2.0, 3.0]))],
        "bernoulli": [chance.Bernoulli(logits=loc), chance.Bernoulli(probs=[0.3, 0.5, 0.9])],
        "categorical": [chance.Categorical(probs=shares), chance.Categorical(logits=loc)],
    }
    points = {
        "gamma": np.float32([[0.3, 1.0, 2.5], [1.0, 4.0, 0.1]]),
        "beta": np.float32([[0.3, 0.9, 0.5], [0.1, 0.4, 0.7]]),
        "dirichlet": shares[::-1].copy(),
        "bernoulli": np.int32([[0, 1, 1], [1, 0, 1]]),
        "categorical": np.int32([2, 0]),
    }
    points["exponential"] = points["gamma"]
    results = {}
    for name, (one, *others) in pairs.items():
        x = points.get(name, np.float32([[-0.7, 0.6, 3.0], [-9.0, 0.9, 40.0]]))
        statistics = ["entropy", "mean", "variance", "stddev", "mode"]
        # What one of both lacks, or TensorFlow broadcasts in an older way.
        for lacking, names in {
            "categorical": ["mean", "variance", "stddev"],
            "uniform": ["mode"],
            "dirichlet": ["mode"],
        }.items():
            if lacking == name:
                statistics = [each for each in statistics if each not in names]
        made = {each: getattr(one, each)() for each in statistics}
        made["prob"], made["log_prob"] = one.prob(x), one.log_prob(x)
        if name not in ("dirichlet", "bernoulli"):
            made["cdf"] = one.cdf(x)
        if name == "normal":
            made["log_cdf"], made["quantile"] = one.log_cdf(x), one.quantile([0.1, 0.5, 0.9])
            made["survival"] = one.survival_function(x)
        for other_one in others:
            made["divergence"] = chance.kl_divergence(one, other_one)
            made["cross entropy"] = one.cross_entropy(other_one)
        kinds = [one.dtype.name, one.batch_shape.as_list(), one.event_shape.as_list()]
        kinds += plain(session.run([one.batch_shape_tensor(), one.event_shape_tensor()]))
        drawn = one.sample([4, 2], seed=1)
        kinds += [drawn.dtype.name, drawn.shape.as_list()]
        values = {key: np.nan_to_num(session.run(each), nan=-77.0) for key, each in made.items()}
        results[name] = {key: plain(value) for key, value in values.items()}
        results[name]["kind"] = [str(kind) for kind in kinds]
    x = tf.constant(points["gamma"] / 5)
    for name in ("normal", "laplace", "student", "gamma", "exponential", "beta"):
        slopes = tf.gradients(pairs[name][0].log_prob(x), x)
        results[name]["slopes"] = plain(session.run(slopes))
    return results


def arrays(tf, session):
    rows = pictures(3, 4)
    counts = [0, 2, 1, 3]
    results = {}
    for name, function in {
        "sorted": lambda x: tf.sort(x, axis=0),
        "falling": lambda x: tf.sort(x, direction="DESCENDING"),
        "repeated": lambda x: tf.repeat(x, counts, axis=1),
        "repeated alike": lambda x: tf.repeat(x, 3, axis=-1),
        "repeated flat": lambda x: tf.repeat(x, 2),
        "chosen": lambda x: tf.where_v2(x > 0.5, x, [[2.0]]),
        "by number": lambda x: tf.switch_case(tf.constant(1), [lambda: x, lambda: x * 3.0]),
        "again": lambda x: tf.recompute_grad(lambda y: tf.square(y) * 2.0)(x),
        "passed": lambda x: tf.grad_pass_through(tf.round)(x),
    }.items():
        results[name] = with_gradient(tf, session, function, rows)
    ascending = tf.sort(rows)
    found = [
        tf.searchsorted(ascending, rows[:, :2], side=side, out_type=kind)
        for side in ("left", "right")
        for kind in (tf.int32, tf.int64)
    ]
    results["places"] = [plain(each) for each in session.run(found)]
    results["shapes"] = [
        tf.broadcast_static_shape(tf.TensorShape(a), tf.TensorShape(b)).as_list()
        for a, b in (([1, 3], [5, 1]), ([4], [2, 1]), ([], [7]))
    ]
    template = tf.make_template("t", lambda x: x * tf.get_variable("v", [], tf.float32), True)
    made = [template(tf.constant(1.0)) for _ in range(2)]
    lazy = tf.make_template("t", lambda x: x * tf.get_variable("v", [], tf.float32))
    made += [lazy(tf.constant(1.0)) for _ in range(2)]
    parts = tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros_initializer(), name="p")
    results["names"] = [each.op.name for each in [*made, *tf.trainable_variables(), *parts]]
    arrays = [np.float32(1.5), np.arange(3), np.array(["a", "bc"]), np.eye(2) * 1j]
    results["messages"] = [
        plain(tf.make_ndarray(type(made).FromString(made.SerializeToString())))
        for made in map(tf.make_tensor_proto, arrays)
    ]
    return results


PROGRAMS = [signals, decays, images, measures, networks, datasets, distributions, arrays]

if __name__ == "__main__":
    print_results(PROGRAMS)
