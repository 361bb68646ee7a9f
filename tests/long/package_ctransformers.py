"""ctransformers for whole_wheels.py: ggml, which runs language models with
quantised weights. A made-up llama of two layers, with weights in each of ggml's
formats, says the next token; its logits may be as far from those of the same
weights as floats as what ggml computes on the host."""
import os
import tempfile

WORDS, WIDTH, HEADS, GROUPS, LAYERS, INNER = 300, 256, 4, 2, 2, 512
# Where gguf cannot quantise, but read: bytes of a block of 256 weights, and
# where its scales are.
MADE_UP = {"Q2_K": (84, 80, 82), "Q3_K": (110, 108, None),
           "Q4_K": (144, 0, 2), "Q5_K": (176, 0, 2), "Q6_K": (210, 208, None)}
FORMATS = ["F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"] + list(MADE_UP)


def weights(random, shape, kind):
    """Bytes in ggml's format, and the same weights as floats."""
    import numpy as np
    from gguf.quants import dequantize, quantize

    if kind.name not in MADE_UP:
        plain = random.standard_normal(shape).astype(np.float32)
        stored = quantize(plain / np.float32(np.sqrt(shape[-1])), kind)
        return stored, dequantize(stored, kind)
    size, scale, least = MADE_UP[kind.name]
    rows, blocks = shape[0], shape[1] // 256
    stored = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)

    def put(at, value):
        stored[:, :, at:at + 2] = np.full((rows, blocks, 1), value, np.float16
                                          ).view(np.uint8)

    put(scale, 1.0)
    if least is not None:
        put(least, 0.0)
    spread = dequantize(stored.reshape(rows, -1), kind).std()
    put(scale, 1.0 / (np.sqrt(shape[-1]) * spread))
    if least is not None:
        put(least, 1.0 / (np.sqrt(shape[-1]) * spread))
    stored = stored.reshape(rows, -1)
    return stored, dequantize(stored, kind)


def write(path, kind, as_floats):
    import gguf
    import numpy as np

    random = np.random.default_rng(0)
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(128)
    file.add_embedding_length(WIDTH)
    file.add_block_count(LAYERS)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(GROUPS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(WIDTH // HEADS)
    words = WORDS - 259
    file.add_tokenizer_model("llama")
    file.add_token_list([b"<unk>", b"<s>", b"</s>"] +
                        [b"<0x%02X>" % i for i in range(256)] +
                        [b"\xe2\x96\x81w%d" % i for i in range(words - 1)] +
                        [b"\xe2\x96\x81"])
    file.add_token_scores([0.0] * 259 + [-float(i) for i in range(words)])
    file.add_token_types([2, 3, 3] + [6] * 256 + [1] * words)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    file.add_unk_token_id(0)

    def matrix(name, *shape):
        stored, floats = weights(random, shape, kind)
        if as_floats:
            file.add_tensor(name + ".weight", floats)
        else:
            file.add_tensor(name + ".weight", stored, raw_dtype=kind)

    def ones(name):
        file.add_tensor(name + ".weight", np.ones(WIDTH, np.float32))

    matrix("token_embd", WORDS, WIDTH)
    ones("output_norm")
    matrix("output", WORDS, WIDTH)
    for layer in ("blk.%d." % i for i in range(LAYERS)):
        ones(layer + "attn_norm")
        ones(layer + "ffn_norm")
        matrix(layer + "attn_q", WIDTH, WIDTH)
        matrix(layer + "attn_k", WIDTH // HEADS * GROUPS, WIDTH)
        matrix(layer + "attn_v", WIDTH // HEADS * GROUPS, WIDTH)
        matrix(layer + "attn_output", WIDTH, WIDTH)
        matrix(layer + "ffn_gate", INNER, WIDTH)
        matrix(layer + "ffn_up", INNER, WIDTH)
        matrix(layer + "ffn_down", WIDTH, INNER)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def ctransformers():
    import gguf
    import numpy as np
    from device import open_installed
    open_installed("nvidia/cuda_runtime/lib/libcudart.so.*")
    from ctransformers import AutoModelForCausalLM

    def logits(path, layers_on_device):
        """Behind many tokens, as a product of matrices, and behind one more,
        as products with a vector."""
        model = AutoModelForCausalLM.from_pretrained(
            path, model_type="llama", gpu_layers=layers_on_device,
            context_length=128, threads=1,
            lib="cuda" if layers_on_device else None)
        model.eval([1] + [259 + i * 7 % 40 for i in range(40)])
        many = np.array(model.logits)
        model.eval([5])
        return [many, np.array(model.logits)]

    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            kind = gguf.GGMLQuantizationType[name]
            stored, floats = (os.path.join(folder, f) for f in ("q", "f"))
            write(stored, kind, as_floats=False)
            write(floats, kind, as_floats=True)
            wanted = logits(floats, 0)
            errors = [[np.abs(a - b).max() / np.abs(b).max()
                       for a, b in zip(got, wanted)]
                      for got in (logits(stored, 0), logits(stored, 50))]
            host, ours = (max(pair) for pair in errors)
            # Formats with half-precision sums on the device lose more there.
            assert ours < max(3 * host, 2e-3), (name, host, ours)
