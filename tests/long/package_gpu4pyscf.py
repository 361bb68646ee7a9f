"""GPU4PySCF for jit_packages.py and whole_wheels.py: kernels of its libraries,
called without its Python, and by it, which needs CuPy, energies of molecules.
What they compute is compared with PySCF, and with numpy where PySCF has no such
function."""
import ctypes
import importlib.util
import math
import os

# A row of PySCF's tables of shells and of pseudopotentials.
ATOM, ANGULAR, PRIMITIVES, SPIN_ORBIT = 0, 1, 2, 4
NUMBER = 7  # of the atom, among those with a potential


class Libraries:
    def __init__(self):
        from device import Device
        self.folder = os.path.join(importlib.util.find_spec(
            "gpu4pyscf").submodule_search_locations[0], "lib")
        # Of a converted wheel it brings the driver.
        ctypes.CDLL(os.path.join(self.folder, "libgecp.so"))
        self.device = Device()

    def call(self, library, function, *arguments):
        """Arrays are passed by their addresses."""
        error = getattr(ctypes.CDLL(os.path.join(self.folder, library)),
                        function)(*(getattr(a, "address", a)
                                    for a in arguments))
        assert error == 0, "%s: %d" % (function, error)


def groups(keys):
    """Where equal rows of a sorted table begin, and its end."""
    return [i for i in range(len(keys)) if i == 0 or
            tuple(keys[i]) != tuple(keys[i - 1])] + [len(keys)]


def molecule(np):
    """Two atoms with pseudopotentials, and shells of one or two functions up
    to d, in the order in which the kernels take them."""
    from pyscf import gto
    mol = gto.M(atom="Na 0 0 0; Cl 0.4 -0.3 2.2", ecp="lanl2dz", cart=True,
                verbose=0, basis={
                    "Na": [[0, (0.9, 0.4), (0.3, 0.7)], [0, (0.1, 1)],
                           [1, (0.25, 1)]],
                    "Cl": [[0, (0.7, 1)], [1, (0.5, 1)], [2, (0.6, 1)]]})
    shells = mol._bas
    mol._bas = shells[np.lexsort((-shells[:, PRIMITIVES], shells[:, ANGULAR]))]
    return mol


def check_pseudopotentials(np, libraries):
    mol = molecule(np)
    potentials = mol._ecpbas[mol._ecpbas[:, SPIN_ORBIT] == 0]
    potentials = potentials[np.lexsort((potentials[:, ATOM],
                                        potentials[:, ANGULAR]))]
    potentials[:, NUMBER] = potentials[:, ATOM]
    by_atom = groups(potentials[:, [ANGULAR, ATOM]])
    by_angular = groups(potentials[by_atom[:-1]][:, [ANGULAR]])
    by_shell = groups(mol._bas[:, [ANGULAR, PRIMITIVES]])
    put = libraries.device.array
    places = mol.ao_loc_nr().astype(np.int32)
    tables = [put(np.asarray(table, np.int32)) for table in (
        potentials, by_atom, mol._atm, mol._bas)]
    count = int(places[-1])

    def integrals(function, parts, ordered):
        out = put(np.zeros((parts, count, count)))
        places_there, env = put(places), put(mol._env)
        for i0, i1 in zip(by_shell, by_shell[1:]):
            for j0, j1 in zip(by_shell, by_shell[1:]):
                for k0, k1 in zip(by_angular, by_angular[1:]):
                    tasks = np.array(
                        [(i, j, k) for i in range(i0, i1)
                         for j in range(j0, j1) for k in range(k0, k1)
                         if i <= j or not ordered], np.int32).reshape(-1, 3)
                    if len(tasks) == 0 or (ordered and i0 > j0):
                        continue
                    libraries.call(
                        "libgecp.so", function, out, places_there, count,
                        put(tasks.T), len(tasks), *tables, env,
                        int(mol._bas[i0, ANGULAR]), int(mol._bas[j0, ANGULAR]),
                        int(potentials[by_atom[k0], ANGULAR]))
        return out.host().reshape(parts, count, count)

    np.testing.assert_allclose(integrals("ECP_cart", 1, True)[0],
                               mol.intor("ECPscalar_cart"), rtol=0, atol=1e-10)
    # By each atom's potential.
    slopes = integrals("ECP_ip_cart", 6, False).reshape(2, 3, count, count)
    for atom, slope in enumerate(slopes):
        with mol.with_rinv_at_nucleus(atom):
            np.testing.assert_allclose(
                slope, mol.intor("ECPscalar_iprinv_cart", comp=3), rtol=0,
                atol=1e-10)


def check_solvent(np, libraries):
    from pyscf.solvent.pcm import get_D_S
    random = np.random.default_rng(2)
    count = 75
    normal = random.standard_normal((count, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    surface = {"grid_coords": normal * 3 + random.random((count, 3)),
               "norm_vec": normal, "R_vdw": random.random(count) + 1,
               "charge_exp": random.random(count) * 4 + 1,
               "switch_fun": random.random(count) * 0.9 + 0.1}
    put = libraries.device.array
    out = [libraries.device.empty(count * count, np.float64) for _ in "DS"]
    libraries.call("libsolvent.so", "pcm_d_s", None, *out,
                   *(put(surface[name]) for name in (
                       "grid_coords", "norm_vec", "R_vdw", "charge_exp",
                       "switch_fun")), count)
    for here, there in zip(out, get_D_S(surface, with_D=True)):
        np.testing.assert_allclose(here.host().reshape(count, count), there,
                                   rtol=1e-10, atol=1e-12)


def check_helpers(np, libraries):
    random = np.random.default_rng(4)
    put = libraries.device.array
    x, y = random.random((50, 3)), random.random((33, 3))
    out = libraries.device.empty(50 * 33, np.float64)
    libraries.call("libcupy_helper.so", "dist_matrix", None, out, put(x),
                   put(y), 50, 33)
    np.testing.assert_allclose(
        out.host().reshape(50, 33),
        np.linalg.norm(x[:, None] - y[None], axis=2), rtol=1e-12)
    packed = random.random((4, 21 * 22 // 2))
    out = libraries.device.empty(4 * 21 * 21, np.float64)
    libraries.call("libcupy_helper.so", "unpack_tril", None, put(packed), out,
                   21, 4, 1)
    whole = np.zeros((4, 21, 21))
    for matrix, half in zip(whole, packed):
        matrix[np.tril_indices(21)] = half
        matrix += np.tril(matrix, -1).T
    np.testing.assert_array_equal(out.host().reshape(whole.shape), whole)


def gpu4pyscf():
    import numpy as np
    libraries = Libraries()
    check_helpers(np, libraries)
    check_solvent(np, libraries)
    check_pseudopotentials(np, libraries)


def energies():
    """Of water, and of benzene, by Hartree and Fock's method."""
    from gpu4pyscf.scf.hf import RHF
    from pyscf import gto, scf

    ring = ["%s %f %f 0" % (atom, radius * math.cos(k * math.pi / 3),
                            radius * math.sin(k * math.pi / 3))
            for atom, radius in (("C", 1.397), ("H", 2.481)) for k in range(6)]
    for atoms, basis in (
            (["O 0 0 0.117", "H 0 0.757 -0.468", "H 0 -0.757 -0.468"],
             "6-31g"), (ring, "sto-3g")):
        mol = gto.M(atom="; ".join(atoms), basis=basis, verbose=0)
        host, ours = (kind(mol).kernel() for kind in (scf.RHF, RHF))
        assert abs(host - ours) < 1e-8, (atoms[0], host, ours)
