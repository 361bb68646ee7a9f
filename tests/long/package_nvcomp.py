"""nvcomp for jit_packages.py: what it packs on the GPU is unpacked there and,
where others know the format, by them, and the other way round."""
import zlib


def deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def nvcomp():
    import lz4.block
    import numpy as np
    from nvidia import nvcomp as package
    random = np.random.default_rng(0)
    data = np.repeat(random.integers(0, 20, 8000), random.integers(
        1, 9, 8000)).astype(np.uint8)[:30000]
    raw = package.BitstreamKind.RAW

    def moved(values):
        return package.as_array(np.frombuffer(values, np.uint8)).cuda()

    def back(array):
        return np.asarray(array.cpu()).view(np.uint8).tobytes()

    for name in ("LZ4", "Snappy", "Cascaded", "Bitcomp", "ANS", "GDeflate"):
        codec = package.Codec(algorithm=name)
        packed = codec.encode(moved(data))
        assert packed.size < len(data), name
        assert back(codec.decode(packed))[:len(data)] == data.tobytes(), name
    size = len(data)
    for name, pack, unpack in (
            ("LZ4", lambda x: lz4.block.compress(x, store_size=False),
             lambda x: lz4.block.decompress(x, uncompressed_size=size)),
            ("Deflate", deflate, lambda x: zlib.decompress(x, -15))):
        codec = package.Codec(algorithm=name, bitstream_kind=raw)
        assert unpack(back(codec.encode(moved(data)))) == data.tobytes(), name
        assert back(codec.decode(moved(pack(data.tobytes())))) == (
            data.tobytes()), name
