"""OpenMM for jit_packages.py: forces of small systems, by its CUDA platform
and by its reference platform. Its long-range sums (PME) call cuFFT."""


def ions(mm, np, side, method=None):
    """A cubic lattice, a little out of place."""
    system, force, places = mm.System(), mm.NonbondedForce(), []
    for i in range(side):
        for j in range(side):
            for k in range(side):
                system.addParticle(39.9)
                force.addParticle((-1) ** (i + j + k) * 0.1, 0.34, 0.99)
                places.append((i * 0.36 + 0.01 * j, j * 0.36, k * 0.36))
    if method is not None:
        force.setNonbondedMethod(method)
        force.setCutoffDistance(0.8)
    edge = side * 0.36
    system.setDefaultPeriodicBoxVectors((edge, 0, 0), (0, edge, 0),
                                        (0, 0, edge))
    return system, force, np.array(places)


def compare(mm, np, name, system, places, tolerance, precision="mixed",
            steps=0):
    states = []
    for platform, settings in (("Reference", {}),
                               ("CUDA", {"Precision": precision})):
        context = mm.Context(system, mm.VerletIntegrator(0.001),
                             mm.Platform.getPlatformByName(platform),
                             settings)
        context.setPositions(places)
        context.getIntegrator().step(steps)
        state = context.getState(getForces=True, getEnergy=True)
        states.append((state.getForces(asNumpy=True)._value,
                       state.getPotentialEnergy()._value))
    (forces, energy), (device_forces, device_energy) = states
    np.testing.assert_allclose(device_forces, forces, rtol=0, err_msg=name,
                               atol=tolerance * np.abs(forces).max())
    assert abs(device_energy - energy) <= tolerance * abs(energy), name


def openmm():
    import numpy as np
    import openmm as mm

    chain = mm.System()
    bonds, angles = mm.HarmonicBondForce(), mm.HarmonicAngleForce()
    torsions = mm.PeriodicTorsionForce()
    for i in range(20):
        chain.addParticle(12)
        if i > 0:
            bonds.addBond(i - 1, i, 0.15, 1000)
        if i > 1:
            angles.addAngle(i - 2, i - 1, i, 1.9, 100)
        if i > 2:
            torsions.addTorsion(i - 3, i - 2, i - 1, i, 3, 0.5, 5)
    for force in (bonds, angles, torsions):
        chain.addForce(force)
    compare(mm, np, "bonded", chain, np.random.default_rng(1).random((20, 3)),
            1e-5, steps=5)

    system, force, places = ions(mm, np, 4)
    system.addForce(force)
    compare(mm, np, "all pairs", system, places, 1e-4)
    compare(mm, np, "all pairs, f64", system, places, 1e-5, "double")

    system, force, places = ions(mm, np, 5, mm.NonbondedForce.CutoffPeriodic)
    system.addForce(force)
    compare(mm, np, "neighbours", system, places, 1e-3, "single", steps=3)

    for name, method in (("Ewald", mm.NonbondedForce.Ewald),
                         ("PME", mm.NonbondedForce.PME)):
        system, force, places = ions(mm, np, 5, method)
        force.setEwaldErrorTolerance(1e-5)
        system.addForce(force)
        compare(mm, np, name, system, places, 1e-3, steps=3)
        compare(mm, np, name + ", f64", system, places, 1e-4, "double")

    system, force, places = ions(mm, np, 3)
    pairs = mm.CustomNonbondedForce("a*exp(-2*r)*cos(r) + q1*q2/r")
    pairs.addGlobalParameter("a", 3.0)
    pairs.addPerParticleParameter("q")
    field = mm.CustomExternalForce("k*(x^2 + y*z)")
    field.addGlobalParameter("k", 5.0)
    solvent = mm.GBSAOBCForce()
    for i in range(len(places)):
        pairs.addParticle([0.1 * i])
        field.addParticle(i, [])
        solvent.addParticle((-1) ** i * 0.1, 0.15, 0.8)
    for force_of_all in (force, pairs, field, solvent):
        system.addForce(force_of_all)
    compare(mm, np, "expressions and solvent", system, places, 1e-4)

    system, force, places = ions(mm, np, 4)
    system.addForce(force)
    for i in range(0, 64, 2):
        system.addConstraint(i, i + 1, 0.36)
    integrator = mm.LangevinMiddleIntegrator(300, 1, 0.002)
    integrator.setRandomNumberSeed(3)
    context = mm.Context(system, integrator,
                         mm.Platform.getPlatformByName("CUDA"))
    context.setPositions(places)
    context.setVelocitiesToTemperature(300, 1)
    integrator.step(10)
    after = context.getState(getPositions=True).getPositions(
        asNumpy=True)._value
    np.testing.assert_allclose(
        np.linalg.norm(after[0::2] - after[1::2], axis=1), 0.36, atol=1e-4)
    energy = context.getState(getEnergy=True).getPotentialEnergy()
    mm.LocalEnergyMinimizer.minimize(context, 10, 5)
    assert context.getState(getEnergy=True).getPotentialEnergy() < energy
