"""gpt4all for jit_packages.py: llama.cpp. A made-up llama, with weights in three
formats, goes on with texts on the device as it does on the host."""
import os
import tempfile

TEXTS = 8


def words(folder, name, device):
    """What follows each text. Rounding may turn a choice, of which whatever
    is written behind it depends: so one word each."""
    from gpt4all import GPT4All

    model = GPT4All(name, model_path=folder, allow_download=False,
                    device=device, n_ctx=128, verbose=False)
    assert model.backend == device
    try:
        return [model.generate(
            " ".join("w%d" % (i * (7 + k) % 40) for i in range(12)),
            max_tokens=1, temp=0) for k in range(TEXTS)]
    finally:
        model.close()


def gpt4all():
    import gguf
    from package_ctransformers import write

    with tempfile.TemporaryDirectory() as folder:
        for kind in ("F16", "Q4_0", "Q8_0"):
            name = kind + ".gguf"
            write(os.path.join(folder, name), gguf.GGMLQuantizationType[kind],
                  as_floats=False)
            host, ours = (words(folder, name, device)
                          for device in ("cpu", "cuda"))
            same = sum(a == b for a, b in zip(host, ours))
            assert same >= TEXTS - 2 and len(set(host)) > 1, (kind, host, ours)
