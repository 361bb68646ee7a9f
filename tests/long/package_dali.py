"""nvidia-dali for jit_packages.py: each operator on the GPU, with DALI's own
for the processor."""

REDUCTIONS = "sum mean min max rms mean_square".split()


def smooth_pictures(np, random):
    """Resampled pictures are only near to each other if they are smooth."""
    for height, width in ((31, 47), (40, 33), (24, 24)):
        picture = random.random((height, width, 3))
        for axis in (0, 1) * 3:
            picture = (np.roll(picture, 1, axis) + 2 * picture +
                       np.roll(picture, -1, axis)) / 4
        yield (picture * 255).astype(np.uint8)


class Comparison:
    def __init__(self, np):
        random = np.random.default_rng(0)
        self.np = np
        self.pictures = list(smooth_pictures(np, random))
        self.sounds = [(np.sin(np.arange(n) / 20) + 0.1 *
                        random.standard_normal(n)).astype(np.float32)
                       for n in (1600, 2000, 1200)]
        self.tables = [random.standard_normal((n, 5)).astype(np.float32)
                       for n in (17, 33, 9)]

    def run(self, operator, data, device):
        from nvidia.dali import fn, pipeline_def

        @pipeline_def(batch_size=3, num_threads=1, device_id=0)
        def pipeline():
            batch = fn.external_source(
                source=lambda: data, batch=True,
                layout="HWC" if data is self.pictures else None)
            return operator(batch.gpu() if device == "gpu" else batch)

        built = pipeline()
        built.build()
        out = built.run()[0].as_cpu()
        return [self.np.asarray(out[i]).astype(self.np.float64)
                for i in range(3)]

    def __call__(self, name, operator, data=None, within=1.01):
        data = self.pictures if data is None else data
        for got, want in zip(self.run(operator, data, "gpu"),
                             self.run(operator, data, "cpu"), strict=True):
            self.np.testing.assert_allclose(got, want, rtol=0, atol=within,
                                            err_msg=name)


def check_pictures(check, fn, types):
    for name in "LINEAR CUBIC LANCZOS3 TRIANGULAR GAUSSIAN NN".split():
        check(name, lambda x, n=name: fn.resize(
            x, size=(25, 37), interp_type=getattr(types, "INTERP_" + n)),
              within=2.01)
    check("normalize", lambda x: fn.crop_mirror_normalize(
        x, crop=(20, 18), mean=[10., 20, 30], std=[3., 4, 5], mirror=1,
        output_layout="CHW", dtype=types.FLOAT), within=1e-3)
    check("rotate", lambda x: fn.rotate(x, angle=30., fill_value=7),
          within=2.01)
    check("warp", lambda x: fn.warp_affine(
        x, matrix=[1., 0.2, 3, -0.1, 0.9, 2], fill_value=0), within=2.01)
    check("twist", lambda x: fn.color_twist(
        x, hue=30., saturation=1.3, contrast=0.8, brightness=1.1),
          within=2.01)
    check("YCbCr", lambda x: fn.color_space_conversion(
        x, image_type=types.RGB, output_type=types.YCbCr))
    check("blur", lambda x: fn.gaussian_blur(x, window_size=5, sigma=1.3))
    check("laplacian", lambda x: fn.laplacian(
        x, window_size=3, dtype=types.FLOAT), within=0.1)
    check("erase", lambda x: fn.erase(x, anchor=(5, 4), shape=(6, 7),
                                      fill_value=9), within=0)
    check("flip", lambda x: fn.flip(x, horizontal=1, vertical=1), within=0)
    check("transpose", lambda x: fn.transpose(x, perm=[2, 0, 1]), within=0)
    check("water", fn.water, within=3.01)
    check("equalize", fn.equalize)
    check("lookup", lambda x: fn.lookup_table(
        x, keys=list(range(256)), values=[float(i * i % 251)
                                          for i in range(256)],
        dtype=types.FLOAT), within=0)


def check_numbers(check, fn):
    from nvidia.dali import math
    check("arithmetic", lambda x: (x * 2.5 + 1) / 3 - x, check.tables, 1e-5)
    check("math", lambda x: math.sqrt(math.abs(x)) + math.cbrt(x) +
          math.sin(x) * math.exp(x) + math.pow(math.abs(x), 1.5),
          check.tables, 1e-3)
    check("compare", lambda x: (x > 0.3) & (x < 1.) | (x < -1.), check.tables,
          0)
    for name in REDUCTIONS:
        for axes in (None, 0, (0, 1)):
            check("%s %s" % (name, axes), lambda x, n=name, a=axes: getattr(
                fn.reductions, n)(x, axes=a), check.tables, 1e-3)
    check("batch", lambda x: fn.normalize(x, batch=True, axes=[0, 1]),
          check.tables, 1e-3)


def check_sounds(check, fn):
    def spectra(x):
        return fn.spectrogram(x, nfft=64, window_length=64, window_step=32)

    def mel(x):
        return fn.mel_filter_bank(spectra(x), sample_rate=8000., nfilter=12)

    check("spectrogram", spectra, check.sounds, 1e-2)
    check("mfcc", lambda x: fn.mfcc(fn.to_decibels(mel(x), cutoff_db=-80.),
                                    n_mfcc=8), check.sounds, 2e-2)
    check("emphasis", fn.preemphasis_filter, check.sounds, 1e-5)
    check("resample", lambda x: fn.audio_resample(
        x, in_rate=8000., out_rate=5000.), check.sounds, 1e-3)


def dali():
    import numpy as np
    from nvidia.dali import fn, types
    check = Comparison(np)
    check_pictures(check, fn, types)
    check_numbers(check, fn)
    check_sounds(check, fn)
