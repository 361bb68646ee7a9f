"""desilofhe for whole_wheels.py: arithmetic of encrypted numbers."""


def desilofhe():
    import numpy as np
    from desilofhe import Engine
    engine = Engine(mode="gpu")
    secret = engine.create_secret_key()
    public = engine.create_public_key(secret)
    again = engine.create_relinearization_key(secret)
    turning = engine.create_rotation_key(secret)
    random = np.random.default_rng(0)
    a, b = random.uniform(-1, 1, (2, engine.slot_count))
    ours, other = engine.encrypt(a, public), engine.encrypt(b, public)
    for got, wanted in ((ours, a),
                        (engine.add(ours, other), a + b),
                        (engine.subtract(ours, other), a - b),
                        (engine.multiply(ours, other, again), a * b),
                        (engine.multiply(ours, b), a * b),
                        (engine.square(ours, again), a * a),
                        (engine.rotate(ours, turning, 3), np.roll(a, 3))):
        np.testing.assert_allclose(engine.decrypt(got, secret), wanted,
                                   atol=1e-6)
