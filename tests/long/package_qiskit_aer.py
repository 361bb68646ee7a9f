"""qiskit-aer-gpu for whole_wheels.py: circuits of qubits by Thrust's algorithms
on the device, compared with qiskit's own matrices."""


def circuit(qubits, random):
    from qiskit import QuantumCircuit

    made = QuantumCircuit(qubits)
    for _ in range(5):
        for i in range(qubits):
            made.u(*random.uniform(0, 6, 3), i)
        for i in range(qubits - 1):
            made.cx(i, i + 1)
        made.rzz(0.3, 0, qubits - 1)
        made.ccx(0, 1, 2)
        made.swap(1, qubits - 1)
        made.cp(0.7, 0, 2)
        made.rxx(0.2, 0, 1)
    return made


def qiskit_aer():
    import numpy as np
    from device import open_installed
    open_installed("nvidia/cuda_runtime/lib/libcudart.so.*")
    from qiskit import QuantumCircuit, transpile
    from qiskit.quantum_info import DensityMatrix, Operator, Statevector
    from qiskit_aer import AerSimulator
    from qiskit_aer.noise import NoiseModel, depolarizing_error

    random = np.random.default_rng(0)
    whole = {"statevector": Statevector, "density_matrix": DensityMatrix,
             "unitary": Operator}
    for qubits in (4, 9):
        drawn = circuit(qubits, random)
        for method, wanted in whole.items():
            if qubits > 4 and method != "statevector":
                continue
            for precision, most in (("double", 1e-13), ("single", 1e-5)):
                simulator = AerSimulator(method=method, device="GPU",
                                         precision=precision)
                saved = drawn.copy()
                getattr(saved, "save_" + method)()
                # Level 0: what swaps is done, and not made names of qubits.
                result = simulator.run(transpile(
                    saved, simulator, optimization_level=0)).result()
                assert result.success, result.status
                got = np.asarray(result.data()[method])
                assert np.abs(got - wanted(drawn).data).max() < most, method
    pairs = QuantumCircuit(3)
    pairs.h(0)
    pairs.cx(0, 1)
    pairs.cx(1, 2)
    pairs.measure_all()
    simulator = AerSimulator(method="statevector", device="GPU",
                             seed_simulator=1)
    counts = simulator.run(transpile(pairs, simulator),
                           shots=2000).result().get_counts()
    assert set(counts) == {"000", "111"} and min(counts.values()) > 900, counts
    noise = NoiseModel()
    noise.add_all_qubit_quantum_error(depolarizing_error(0.05, 2), ["cx"])
    simulator = AerSimulator(method="statevector", device="GPU",
                             noise_model=noise, seed_simulator=1)
    counts = simulator.run(transpile(pairs, simulator),
                           shots=500).result().get_counts()
    assert len(counts) > 2 and counts["000"] + counts["111"] > 400, counts
