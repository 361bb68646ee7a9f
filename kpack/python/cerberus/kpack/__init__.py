"""Reads .kpack archives: AMD GPU code objects of many binaries and targets.

    from cerberus import kpack

    with kpack.open("app-gfx1100.kpack") as archive:
        for key, arch in archive:
            code = archive.read(key, arch)

All of it is done by librocm_kpack, which the wheel holds; without it one that
the system's loader finds is taken. Archives and views may be used by several
threads at once.
"""
import ctypes
import json
import os
import weakref

__all__ = ["Archive", "KpackError", "open"]

_LIBRARY = "librocm_kpack.so.1"
_SUCCESS = 0
_ERROR_KERNEL_NOT_FOUND = 5


class KpackError(Exception):
    """What librocm_kpack says. `code` is its kpack_error_t."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _load():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), _LIBRARY)
    library = ctypes.CDLL(beside if os.path.exists(beside) else _LIBRARY)
    handle, text = ctypes.c_void_p, ctypes.c_char_p
    size = ctypes.POINTER(ctypes.c_size_t)
    texts = ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p))
    data = ctypes.POINTER(ctypes.c_void_p)
    for name, arguments in {
            "kpack_open": [text, ctypes.POINTER(handle)],
            "kpack_get_architectures": [handle, texts, size],
            "kpack_list_kernels": [handle, text, text, texts, size],
            "kpack_get_kernel_metadata":
                [handle, text, text, ctypes.POINTER(text), size],
            "kpack_view_kernel": [handle, text, text, data, size],
            "kpack_release_view": [handle, ctypes.c_void_p],
    }.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = ctypes.c_int
    library.kpack_close.argtypes = [handle]
    library.kpack_close.restype = None
    library.kpack_get_last_error.argtypes = [handle]
    library.kpack_get_last_error.restype = text
    return library


_library = _load()


def _check(code, handle):
    if code == _SUCCESS:
        return
    message = _library.kpack_get_last_error(handle).decode("utf-8", "replace")
    if code == _ERROR_KERNEL_NOT_FOUND:
        raise KeyError(message)
    raise KpackError(code, message)


# Names need not be UTF-8; what Python made of them goes back unchanged.
def _encode(name):
    return os.fsencode(name)


def _names(pointer, count):
    return tuple(os.fsdecode(pointer[i]) for i in range(count.value))


class _Handle:
    """Closed when neither the archive nor a view needs it any more."""

    def __init__(self, path):
        self.value = ctypes.c_void_p()
        _check(_library.kpack_open(_encode(path), ctypes.byref(self.value)),
               None)
        weakref.finalize(self, _library.kpack_close, self.value)


def _release(handle, address):
    _library.kpack_release_view(handle.value, address)


class Archive:
    """An open archive; iterating gives (key, target) of each code object."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._handle = _Handle(self.path)

    def close(self):
        """Views that were given out stay valid."""
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _open_handle(self):
        handle = self._handle
        if handle is None:
            raise ValueError(f"{self.path}: the archive is closed")
        return handle

    @property
    def architectures(self):
        """The target ids, in the archive's order."""
        handle = self._open_handle()
        names = ctypes.POINTER(ctypes.c_char_p)()
        count = ctypes.c_size_t()
        _check(_library.kpack_get_architectures(
            handle.value, ctypes.byref(names), ctypes.byref(count)),
               handle.value)
        return _names(names, count)

    def kernels(self, arch, binary=None):
        """The keys for a target: of one binary, or of all."""
        handle = self._open_handle()
        names = ctypes.POINTER(ctypes.c_char_p)()
        count = ctypes.c_size_t()
        _check(_library.kpack_list_kernels(
            handle.value, None if binary is None else _encode(binary),
            _encode(arch), ctypes.byref(names), ctypes.byref(count)),
               handle.value)
        return _names(names, count)

    def __iter__(self):
        return iter(sorted((key, arch) for arch in set(self.architectures)
                           for key in self.kernels(arch)))

    def metadata(self, key, arch):
        """What the table of contents says: a dict of type, original_size,
        stored_size and metadata. KeyError if there is no such code object."""
        handle = self._open_handle()
        text = ctypes.c_char_p()
        size = ctypes.c_size_t()
        _check(_library.kpack_get_kernel_metadata(
            handle.value, _encode(key), _encode(arch), ctypes.byref(text),
            ctypes.byref(size)), handle.value)
        return json.loads(text.value)

    def view(self, key, arch):
        """The bytes without a copy, as a read-only memoryview: a part of the
        mapped file where they are stored plain. KeyError as above."""
        handle = self._open_handle()
        data = ctypes.c_void_p()
        size = ctypes.c_size_t()
        _check(_library.kpack_view_kernel(
            handle.value, _encode(key), _encode(arch), ctypes.byref(data),
            ctypes.byref(size)), handle.value)
        if not size.value:
            _release(handle, data)
            return memoryview(b"")
        array = (ctypes.c_ubyte * size.value).from_address(data.value)
        # The memoryview keeps the array, its end releases the view.
        weakref.finalize(array, _release, handle, data)
        return memoryview(array).toreadonly().cast("B")

    def read(self, key, arch):
        """A copy of the bytes. KeyError as above."""
        return bytes(self.view(key, arch))


def open(path):  # pylint: disable=redefined-builtin
    """Opens an archive; KpackError if it cannot be read."""
    return Archive(path)
