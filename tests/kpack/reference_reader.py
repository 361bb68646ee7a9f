"""Reads .kpack archives, from docs/kpack-format.md, with msgpack, zstandard
and xxhash from PyPI and nothing of Cerberus.

Version 1 is read as ROCm's own readers read it, which know no checksums:
Archive(path, checksums=False). Bytes behind the table are an error, as in
ROCm's Python reader.
"""
import pathlib
import struct

import msgpack
import xxhash
import zstandard


class FormatError(Exception):
    """What is wrong with an archive."""


def need(condition, what):
    if not condition:
        raise FormatError(what)


def xxh3(*parts):
    state = xxhash.xxh3_64(seed=0)
    for part in parts:
        state.update(part)
    return state.intdigest()


class Archive:
    """entries: {(key, target): row}; row: type, blob, size, metadata."""

    def __init__(self, path, checksums=True):
        self.data = pathlib.Path(path).read_bytes()
        magic, version = struct.unpack_from("<4sI", self.data)
        need(magic == b"KPAK", f"magic {magic}")
        self.checksums = checksums
        self.entries = {}
        if version == 1:
            self._read_1()
        else:
            need(version == 2, f"version {version}")
            self._read_2()

    def _read_1(self):
        (offset,) = struct.unpack_from("<Q", self.data, 8)
        table = self.data[offset:]
        mark, expected = struct.unpack_from("<8sQ", self.data, 16)
        summed = self.checksums and mark == b"checksum"
        if summed:
            header = self.data[:24] + bytes(8) + self.data[32:64]
            need(xxh3(header, table) == expected, "header or table")
        top = msgpack.unpackb(table, strict_map_key=False)
        need(top["format_version"] == 1, "format_version")
        self.group, self.arches = top["group_name"], top["gfx_arches"]
        scheme = top["compression_scheme"]
        if scheme == "none":
            self.blobs = [(b["offset"], b["size"]) for b in top["blobs"]]
        else:
            need(scheme == "zstd-per-kernel", scheme)
            self.blobs = self._frames(top["zstd_offset"], top["zstd_size"])
        for key, targets in top["toc"].items():
            for target, row in targets.items():
                metadata = row.get("metadata", {})
                self.entries[key, target] = {
                    "type": row["type"], "blob": row["ordinal"],
                    "size": row["original_size"], "metadata": metadata,
                    "zstd": scheme != "none", "reference": None,
                    "checksum": metadata.get("xxh3") if summed else None}

    def _frames(self, at, size):
        end = at + size
        (count,) = struct.unpack_from("<I", self.data, at)
        at += 4
        blobs = []
        for _ in range(count):
            (length,) = struct.unpack_from("<I", self.data, at)
            blobs.append((at + 4, length))
            at += 4 + length
        need(at == end, "zstd_size is not that of the frames")
        return blobs

    def _read_2(self):
        (at, size, file_size, blobs, entries, arches, features, reserved,
         checksum) = struct.unpack_from("<QQQIIIIQQ", self.data, 8)
        need(file_size == len(self.data) == at + size, "sizes")
        need(features == 0 and reserved == 0, "features")
        index = self.data[at:]
        need(xxh3(self.data[:56], index) == checksum, "header or index")
        strings = blobs * 56 + entries * 40 + arches * 8 + 16

        def texts(place, count):
            pairs = struct.unpack_from(f"<{2 * count}I", index, place)
            return [index[strings + o:strings + o + n]
                    for o, n in zip(pairs[::2], pairs[1::2])]

        rows = [struct.unpack_from("<QQQQ16sII", index, 56 * i)
                for i in range(blobs)]
        self.blobs = [row[:2] for row in rows]
        last = None
        for i in range(entries):
            place = blobs * 56 + i * 40
            key, target, kind, metadata = texts(place, 4)
            need(last is None or last < (key, target), "order of entries")
            last = key, target
            blob, zero = struct.unpack_from("<II", index, place + 32)
            need(zero == 0, "reserved")
            self.entries[key.decode(), target.decode()] = dict(
                self._row_2(rows, blob), type=kind.decode(),
                metadata=msgpack.unpackb(metadata) if metadata else {})
        place = blobs * 56 + entries * 40
        self.arches = [text.decode() for text in texts(place, arches)]
        self.group = texts(strings - 16, 2)[0].decode()

    @staticmethod
    def _row_2(rows, blob):
        _, _, size, checksum, content, codec, reference = rows[blob]
        need(codec in (0, 1), f"codec {codec}")
        return {"blob": blob, "size": size, "zstd": codec == 1,
                "checksum": checksum, "content": content,
                "reference": None if reference == 0xffffffff
                else Archive._row_2(rows, reference)}

    def read(self, key, target):
        return self._unpack(self.entries[key, target])

    def _unpack(self, row):
        offset, size = self.blobs[row["blob"]]
        stored = self.data[offset:offset + size]
        need(len(stored) == size, "a blob runs past the end")
        if row["checksum"] is not None:
            need(xxh3(stored) == row["checksum"], f"blob {row['blob']}")
        if not row["zstd"]:
            return stored
        prefix = None
        if row["reference"]:
            prefix = zstandard.ZstdCompressionDict(
                self._unpack(row["reference"]),
                dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        out = zstandard.ZstdDecompressor(dict_data=prefix).decompress(
            stored, max_output_size=row["size"])
        need(len(out) == row["size"], "size")
        if row.get("content"):
            need(xxhash.xxh3_128_digest(out, seed=0) == row["content"],
                 "content hash")
        return out
