"""ctranslate2 for jit_packages.py: a translation model made up here, run in
f32, f16 and int8 on the GPU, whose products are cuBLAS's, and on the
processor."""
import os
import tempfile

WORDS, WIDTH, INNER, HEADS, LAYERS = 24, 32, 64, 4, 2


def fill(np, spec, random):
    """Random weights for every layer of a specification."""
    def linear(layer, rows, columns):
        layer.weight = (random.standard_normal((rows, columns)) /
                        columns ** 0.5).astype(np.float32)
        layer.bias = (random.standard_normal(rows) * 0.1).astype(np.float32)

    def norm(layer):
        layer.gamma = (1 + 0.1 * random.standard_normal(WIDTH)).astype(
            np.float32)
        layer.beta = (0.1 * random.standard_normal(WIDTH)).astype(np.float32)

    def attention(layer, own):
        sizes = (3 * WIDTH, WIDTH) if own else (WIDTH, 2 * WIDTH, WIDTH)
        for part, rows in zip(layer.linear, sizes):
            linear(part, rows, WIDTH)
        norm(layer.layer_norm)

    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings
        if isinstance(embeddings, list):
            embeddings = embeddings[0]
        embeddings.weight = random.standard_normal((WORDS, WIDTH)).astype(
            np.float32)
        side.scale_embeddings = False
        norm(side.layer_norm)
        for layer in side.layer:
            attention(layer.self_attention, True)
            if side is spec.decoder:
                attention(layer.attention, False)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, INNER, WIDTH)
            linear(layer.ffn.linear_1, WIDTH, INNER)
    linear(spec.decoder.projection, WORDS, WIDTH)


def make_model(np, folder):
    from ctranslate2.specs import TransformerSpec
    spec = TransformerSpec.from_config(LAYERS, HEADS)
    fill(np, spec, np.random.default_rng(21))
    words = ["<blank>", "<s>", "</s>"] + ["w%d" % i for i in range(WORDS - 3)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.unk_token = "<blank>"
    spec.validate()
    os.mkdir(folder)
    spec.save(folder)
    return words


def ctranslate2():
    import ctranslate2 as ct
    import numpy as np
    assert ct.get_cuda_device_count() == 1
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "model")
        words = make_model(np, folder)
        random = np.random.default_rng(22)
        sources = [[words[i] for i in random.integers(3, WORDS, n)]
                   for n in (1, 5, 9, 4)]
        targets = [[words[i] for i in random.integers(3, WORDS, n)]
                   for n in (2, 6, 7, 3)]
        there = ct.Translator(folder, device="cpu", compute_type="float32")
        scores = [np.array(s.log_probs)
                  for s in there.score_batch(sources, targets)]
        best = there.translate_batch(sources, beam_size=3,
                                     max_decoding_length=12)
        for kind, tolerance in (("float32", 1e-4), ("float16", 0.03),
                                ("int8", 0.3), ("int8_float16", 0.3)):
            here = ct.Translator(folder, device="cuda", compute_type=kind)
            for ours, theirs in zip(here.score_batch(sources, targets), scores):
                np.testing.assert_allclose(ours.log_probs, theirs,
                                           atol=tolerance, err_msg=kind)
            found = here.translate_batch(sources, beam_size=3,
                                         max_decoding_length=12)
            if kind == "float32":
                for ours, theirs in zip(found, best):
                    assert ours.hypotheses == theirs.hypotheses
