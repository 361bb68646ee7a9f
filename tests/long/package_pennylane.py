"""PennyLane's lightning.gpu for jit_packages.py: cuStateVec with kernels of its
own beside it. Values, gradients, probabilities and samples of circuits."""


def pennylane():
    import numpy as np
    import pennylane as qml
    from pennylane import numpy as trained

    def circuit(device, method):
        @qml.qnode(qml.device(device, wires=4), diff_method=method)
        def run(x):
            for i in range(4):
                qml.RX(x[i], wires=i)
            for i in range(3):
                qml.CNOT(wires=[i, i + 1])
            qml.RY(x[4], wires=1)
            qml.CRZ(x[5], wires=[0, 2])
            qml.IsingXX(x[6], wires=[1, 3])
            qml.Toffoli(wires=[0, 1, 2])
            qml.SWAP(wires=[0, 3])
            return qml.expval(qml.PauliZ(0) @ qml.PauliX(2) +
                              0.3 * qml.PauliY(1))
        return run

    host = circuit("default.qubit", "backprop")
    gpu = circuit("lightning.gpu", "adjoint")
    for seed in range(3):
        x = trained.array(np.random.default_rng(seed).uniform(0, 3, 7),
                          requires_grad=True)
        np.testing.assert_allclose(gpu(x), host(x), atol=1e-12)
        np.testing.assert_allclose(qml.grad(gpu)(x), qml.grad(host)(x),
                                   atol=1e-12)

    def state(device):
        @qml.qnode(qml.device(device, wires=5))
        def run():
            qml.QFT(wires=range(5))
            qml.PauliX(0)
            qml.ctrl(qml.RX, control=[0, 2], control_values=[1, 0])(
                0.7, wires=4)
            qml.DoubleExcitation(0.4, wires=[0, 1, 2, 3])
            qml.QubitUnitary(np.array([[0, 1j], [1j, 0]]), wires=3)
            return qml.state(), qml.probs(wires=[1, 4])
        return run()

    for got, want in zip(state("lightning.gpu"), state("default.qubit")):
        np.testing.assert_allclose(got, want, atol=1e-12)
