"""What cuDNN's descriptors and handles say of themselves, and what calls with
bad arguments are answered."""
import ctypes

import numpy

from judge import Device, driver
from judge_cudnn_frame import (BAD_PARAM, NOT_SUPPORTED, each, int32, ints,
                               scalar)

NOTHING = ctypes.c_void_p()
LONG = ctypes.c_int64
SIZE = ctypes.c_size_t


def tensors(dnn):
    made = dnn.new("Tensor")
    for layout, strides in ((0, [60, 20, 5, 1]), (1, [60, 1, 15, 3])):
        dnn.plain("SetTensor4dDescriptor", made, layout, 2, 2, 3, 4, 5)
        dnn.got("GetTensor4dDescriptor", made, *each(2, 2, 3, 4, 5, *strides))
        dnn.got("GetTensorNdDescriptor", made, 4, *each(2, 4),
                ints([2, 3, 4, 5]), ints(strides))
        dnn.judge.same("bytes", dnn.size("GetTensorSizeInBytes", made), 240)
        dnn.plain("SetTensorNdDescriptorEx", made, layout, 0, 4,
                  ints([2, 3, 4, 5]))
        dnn.got("GetTensor4dDescriptor", made, *each(0, 2, 3, 4, 5, *strides))
    dnn.plain("SetTensor4dDescriptorEx", made, 1, 2, 3, 4, 5, 100, 30, 6, 1)
    dnn.got("GetTensor4dDescriptor", made, *each(1, 2, 3, 4, 5, 100, 30, 6, 1))
    made = dnn.new("Filter")
    for layout in (0, 1):
        dnn.plain("SetFilter4dDescriptor", made, 0, layout, 2, 3, 4, 5)
        dnn.got("GetFilter4dDescriptor", made, *each(0, layout, 2, 3, 4, 5))
        dnn.got("GetFilterNdDescriptor", made, 4, *each(0, layout, 4),
                ints([2, 3, 4, 5]))
        dnn.judge.same("bytes", dnn.size("GetFilterSizeInBytes", made), 480)
    made = dnn.new("TensorTransform")
    dnn.plain("SetTensorTransformDescriptor", made, 4, 1, ints([0, 1, 2, 0]),
              ints([1, 0, 0, 3]), ints([1, 1]), 0)
    dnn.got("GetTensorTransformDescriptor", made, 4, int32(1),
            ints([0, 1, 2, 0]), ints([1, 0, 0, 3]), ints([1, 1]), int32(0))


def convolutions(dnn):
    made = dnn.new("Convolution")
    dnn.plain("SetConvolution2dDescriptor", made, 1, 2, 3, 1, 2, 1, 1, 0)
    dnn.got("GetConvolution2dDescriptor", made, *each(1, 2, 3, 1, 2, 1, 1, 0))
    dnn.got("GetConvolutionNdDescriptor", made, 2, int32(2), ints([1, 2]),
            ints([3, 1]), ints([2, 1]), *each(1, 0))
    for name, value in (("MathType", 1), ("GroupCount", 2),
                        ("ReorderType", 1)):
        dnn.plain("SetConvolution" + name, made, value)
        dnn.got("GetConvolution" + name, made, int32(value))
    x, w, y = dnn.tensor((2, 4, 9, 8), "S"), dnn.new("Filter"), dnn.output(
        (2, 6, 3, 11), "S")
    dnn.plain("SetFilter4dDescriptor", w, 0, 0, 6, 2, 3, 2)
    of_x, of_y = dnn.descriptor(x), dnn.descriptor(y)
    told = each(0, 0, 0, 0)
    dnn.plain("GetConvolution2dForwardOutputDim", made, of_x, w, *told)
    dnn.judge.same("sizes", [int(n) for n in told], y.sizes)
    memory = dnn.room(10000)
    given = {"x": [of_x, memory], "w": [w, memory], "y": [of_y, memory],
             "how": [made]}
    found = numpy.zeros((8, 12), numpy.int32)
    for direction, names in (("Forward", "x w how y"),
                             ("BackwardData", "w y how x"),
                             ("BackwardFilter", "x y how w")):
        args = [arg for name in names.split() for arg in given[name]]
        dnn("FindConvolution%sAlgorithmEx" % direction, *args, 8,
            count := int32(0), found, memory, SIZE(10000))
        dnn.judge.same("algorithms", [bool(count >= 1), found[0, 1]],
                       [True, 0])


def layers(dnn):
    made = dnn.new("Pooling")
    dnn.plain("SetPooling2dDescriptor", made, 2, 1, 3, 2, 1, 0, 2, 1)
    dnn.got("GetPooling2dDescriptor", made, *each(2, 1, 3, 2, 1, 0, 2, 1))
    dnn.got("GetPoolingNdDescriptor", made, 2, *each(2, 1, 2), ints([3, 2]),
            ints([1, 0]), ints([2, 1]))
    told = each(0, 0, 0, 0)
    dnn.plain("GetPooling2dForwardOutputDim", made, dnn.descriptor(
        dnn.tensor((2, 3, 7, 6), "S")), *told)
    dnn.judge.same("sizes", [int(n) for n in told], [2, 3, 4, 5])
    made = dnn.new("Activation")
    dnn.plain("SetActivationDescriptor", made, 6, 1, 0.5)
    dnn.got("GetActivationDescriptor", made, *each(6, 1), numpy.float64(0.5))
    dnn.plain("SetActivationDescriptorSwishBeta", made, 1.5)
    dnn.got("GetActivationDescriptorSwishBeta", made, numpy.float64(1.5))


def dropout(dnn):
    """States that were saved are gone back to."""
    x = dnn.tensor((4, 100), "S")
    size = dnn.size("DropoutGetStatesSize", dnn.handle)
    room = dnn.size("DropoutGetReserveSpaceSize", dnn.descriptor(x))
    states, reserve, made = dnn.room(size), dnn.room(room), dnn.new("Dropout")
    dnn.plain("SetDropoutDescriptor", made, dnn.handle, ctypes.c_float(0.5),
              states, SIZE(size), ctypes.c_uint64(9))
    told = [numpy.zeros(1, t) for t in ("f4", "u8", "u8")]
    dnn.plain("GetDropoutDescriptor", made, dnn.handle, *told)
    dnn.judge.same("as it was set", [float(n[0]) for n in told],
                   [0.5, states.pointer.value, 9])

    def mask():
        y = dnn.output(x.sizes, "S")
        dnn("DropoutForward", made, x, y, reserve, SIZE(room))
        return y.get() != 0

    mask()
    saved = states.get()
    first, second = mask(), mask()
    dnn.judge.same("masks differ", bool((first != second).any()), True)
    states = Device(saved)
    made = dnn.new("Dropout")
    dnn.plain("RestoreDropoutDescriptor", made, dnn.handle,
              ctypes.c_float(0.5), states, SIZE(size), ctypes.c_uint64(9))
    dnn.judge.same("the mask once more", mask(), first)


def handles(dnn):
    number = dnn.library.file.cudnnGetVersion
    number.restype = SIZE
    parts = [int32(0) for _ in range(3)]
    for i, part in enumerate(parts):
        dnn.plain("GetProperty", i, part)
    major, minor, patch = map(int, parts)
    step = 10000 if major >= 9 else 1000
    dnn.judge.same("the version", number(), major * step + minor * 100 + patch)
    dnn.library.called.add("cudnnGetVersion")
    names = ["Ops", "Cnn", "Adv"]
    for name in (["Graph", "SubquadraticOps"] + names if major >= 9 else
                 [n + kind for n in names for kind in ("Infer", "Train")]):
        dnn.plain(name + "VersionCheck")
    for name in ("GetCudartVersion",
                 *(["GetMaxDeviceVersion"] if major >= 9 else [])):
        function = dnn.library.file["cudnn" + name]
        function.restype = SIZE
        dnn.library.called.add("cudnn" + name)
        dnn.judge.same(name, bool(function() > 0), True)
    text = dnn.library.file.cudnnGetErrorString
    text.restype = ctypes.c_char_p
    dnn.library.called.add("cudnnGetErrorString")
    for status, expected in ((0, b"CUDNN_STATUS_SUCCESS"),
                             (2000 if major >= 9 else 3,
                              b"CUDNN_STATUS_BAD_PARAM"),
                             (3000 if major >= 9 else 9,
                              b"CUDNN_STATUS_NOT_SUPPORTED")):
        dnn.judge.same("its name", text(status), expected)
    dnn("QueryRuntimeError", status := int32(77), 0, None)
    dnn.judge.same("an error", status, 0)
    if major >= 9:
        message = ctypes.create_string_buffer(b"?" * 99)
        dnn.library.file.cudnnGetLastErrorString(message, SIZE(99))
        dnn.library.called.add("cudnnGetLastErrorString")
        dnn.judge.same("it ends", b"\0" in message.raw[:99], True)
    callback = ctypes.CFUNCTYPE(None)(lambda: None)
    place = ctypes.cast(callback, ctypes.c_void_p).value
    dnn.plain("SetCallback", 3, ctypes.c_void_p(17), ctypes.c_void_p(place))
    told = [numpy.zeros(1, t) for t in ("u4", "u8", "u8")]
    dnn.plain("GetCallback", *told)
    dnn.judge.same("the callback", [int(n[0]) for n in told], [3, 17, place])
    dnn.plain("SetCallback", 0, None, None)
    # Work in a stream of one's own.
    stream, told = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    dnn("SetStream", stream)
    dnn("GetStream", ctypes.byref(told))
    dnn.judge.same("the stream", told.value, stream.value)
    x, y = dnn.tensor((2, 3), "S"), dnn.output((2, 3), "S")
    dnn("TransformTensor", scalar("S", 2), x, scalar("S", 0), y)
    dnn.judged("y", y, 2 * x.values)
    dnn("SetStream", NOTHING)
    driver("cuStreamDestroy_v2", stream)


def refuses(dnn):
    """Bad arguments, of a kind of status."""
    one, zero = scalar("S", 1), scalar("S", 0)
    x, y, small, halves = (dnn.tensor(s, "S") for s in (
        (2, 3, 4, 5), (2, 3, 4, 5), (2, 3, 4, 4), (2, 2, 2, 2)))
    tensor, convolution, pooling, act, lrn, op, reduce = map(dnn.new, (
        "Tensor", "Convolution", "Pooling", "Activation", "LRN", "OpTensor",
        "ReduceTensor"))
    unset = dnn.new("Tensor")
    w = dnn.new("Filter")
    dnn.plain("SetFilter4dDescriptor", w, 0, 0, 6, 2, 3, 2)
    dnn.plain("SetConvolution2dDescriptor", convolution, 0, 0, 1, 1, 1, 1, 1,
              0)
    dnn.plain("SetActivationDescriptor", act, 1, 0, 0.0)
    dnn.plain("SetPooling2dDescriptor", pooling, 0, 0, 2, 2, 0, 0, 2, 2)
    dnn.plain("SetReduceTensorDescriptor", reduce, 0, 0, 0, 0, 0)
    four = ints([1] * 4)
    h = dnn.handle
    for status, name, *args in (
            (BAD_PARAM, "Create", NOTHING),
            (BAD_PARAM, "SetTensor4dDescriptor", tensor, 0, 0, 2, 0, 4, 5),
            (BAD_PARAM, "SetTensor4dDescriptor", NOTHING, 0, 0, 2, 3, 4, 5),
            (BAD_PARAM, "SetTensorNdDescriptor", tensor, 0, 4, NOTHING, four),
            (NOT_SUPPORTED, "SetTensorNdDescriptor", tensor, 0, 9,
             ints([1] * 9), ints([1] * 9)),
            (BAD_PARAM, "SetConvolution2dDescriptor", convolution, -1, 0, 1, 1,
             1, 1, 1, 0),
            (BAD_PARAM, "SetConvolution2dDescriptor", convolution, 0, 0, 0, 1,
             1, 1, 1, 0),
            (BAD_PARAM, "SetPooling2dDescriptor", pooling, 9, 0, 2, 2, 0, 0, 1,
             1),
            (BAD_PARAM, "SetActivationDescriptor", act, 17, 0, 0.0),
            # n is 1 to 16, k at least 1e-5, beta at least 0.01.
            (BAD_PARAM, "SetLRNDescriptor", lrn, 0, 1.0, 0.75, 2.0),
            (BAD_PARAM, "SetLRNDescriptor", lrn, 17, 1.0, 0.75, 2.0),
            (BAD_PARAM, "SetLRNDescriptor", lrn, 5, 1.0, 0.75, 1e-6),
            (BAD_PARAM, "SetLRNDescriptor", lrn, 5, 1.0, 1e-3, 2.0),
            (BAD_PARAM, "SetOpTensorDescriptor", op, 9, 0, 0),
            (BAD_PARAM, "SetReduceTensorDescriptor", op, 9, 0, 0, 0, 0),
            (BAD_PARAM, "TransformTensor", h, one, x, zero, small),
            (BAD_PARAM, "TransformTensor", h, one, unset, x.device, zero, y),
            (BAD_PARAM, "AddTensor", h, one, small, zero, y),
            (BAD_PARAM, "ActivationForward", h, act, one, x, zero, small),
            (BAD_PARAM, "SoftmaxForward", h, 7, 0, one, x, zero, y),
            (BAD_PARAM, "SoftmaxForward", h, 0, 0, one, x, zero, small),
            (BAD_PARAM, "PoolingForward", h, pooling, one, x, zero, halves),
            (BAD_PARAM, "ReduceTensor", h, reduce, NOTHING, SIZE(0), NOTHING,
             SIZE(0), one, x, zero, small),
            # The filter is of two channels, the image of three.
            (BAD_PARAM, "ConvolutionForward", h, one, x, w, x.device,
             convolution, 1, NOTHING, SIZE(0), zero, y)):
        dnn.refuses(status, name, *args)


def unanswered(dnn):
    """What the documentation here calls refused."""
    for name in ("CreateAttnDescriptor", "CreateSeqDataDescriptor",
                 "DivisiveNormalizationForward", "MultiHeadAttnForward",
                 "CreateFusedOpsPlan", "GnnAggSimpleForward"):
        dnn.refuses(NOT_SUPPORTED, name, NOTHING)


FAMILIES = [(tensors, {}), (convolutions, {}), (layers, {}), (dropout, {}),
            (handles, {}), (refuses, {}), (unanswered, {})]
OLD_FAMILIES = [(tensors, {}), (convolutions, {}), (layers, {}), (dropout, {}),
                (handles, {})]
