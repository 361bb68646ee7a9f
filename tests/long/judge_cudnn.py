"""cuDNN against numpy; run by numpy_judges.py.

What is computed stands in the judges of layers, of sequences and of graphs as
NVIDIA's documentation defines it; ways back are slopes of ways forward.
"""
import judge_cudnn_layers
from judge_cudnn_frame import Dnn, cases


def run(judge):
    dnn = Dnn(judge)
    cases(judge, dnn, judge_cudnn_layers.FAMILIES)
    dnn("Destroy")
    return dnn.library.called
