#!/usr/bin/env python3
"""Trains and predicts with a converted xgboost on the device and compares with
the same library's own code for the host, and with numpy.
usage: wheel_xgboost.py FOLDER   (the unpacked wheel, converted)
"""
import os
import sys

import numpy as np

from device import Checks

ROWS, COLUMNS = 400, 6


class Suite:
    def __init__(self, folder):
        sys.path.insert(0, folder)
        import xgboost
        self.xgb = xgboost
        self.checks = Checks()
        random = np.random.default_rng(3)
        # Multiples of 1/8: cuts and sums of gradients come out the same on
        # both sides, so that trees can be compared.
        self.x = (random.integers(-40, 41, (ROWS, COLUMNS)) / 8).astype(
            np.float32)
        self.x[random.random((ROWS, COLUMNS)) < 0.05] = np.nan
        clean = np.nan_to_num(self.x)
        self.y = (clean[:, 0] * 2 + np.abs(clean[:, 1]) - clean[:, 2] *
                  (clean[:, 3] > 1)).astype(np.float32)

    def train(self, device, label, quantile=False, **parameters):
        options = {"device": device, "max_depth": 3, "nthread": 1,
                   "tree_method": "hist", "seed": 0, "verbosity": 1}
        options.update(parameters)
        kind = self.xgb.QuantileDMatrix if quantile else self.xgb.DMatrix
        return self.xgb.train(options, kind(self.x, label), 4)

    def check_training(self, name, label, **parameters):
        ours = self.train("cuda", label, **parameters)
        host = self.train("cpu", label, **parameters)
        data = self.xgb.DMatrix(self.x, label)
        ours.set_param({"device": "cpu"})
        self.checks.close("prediction after training " + name,
                          ours.predict(data), host.predict(data), 1e-5, 1e-5)
        return host, data

    def check_prediction(self, name, model, data):
        """One model, both predictors: leaves, margins and contributions."""
        for what in ({"output_margin": True}, {"pred_leaf": True},
                     {"pred_contribs": True}, {"pred_interactions": True}):
            values = []
            for device in ("cpu", "cuda"):
                model.set_param({"device": device})
                values.append(model.predict(data, **what))
            self.checks.close("%s of %s" % (list(what)[0], name), values[1],
                              values[0], 1e-4, 1e-4)

    def run(self):
        model, data = self.check_training("squared error", self.y,
                                          objective="reg:squarederror")
        self.check_prediction("squared error", model, data)
        self.check_training("quantile matrix", self.y, quantile=True,
                            objective="reg:squarederror")
        self.check_training("absolute error", self.y,
                            objective="reg:absoluteerror")
        self.check_training("poisson", np.abs(self.y),
                            objective="count:poisson")
        # The device's code takes the best split of each feature and only then
        # looks whether both sides reach min_child_weight; the host's takes
        # the best of those that do. Where the second derivative is small the
        # trees differ, so that here each split is heavy enough.
        for name, label, options in (
                ("logistic", self.y > 0, {"objective": "binary:logistic"}),
                ("softprob", np.digitize(self.y, [-3, 3]),
                 {"objective": "multi:softprob", "num_class": 3}),
                ("pseudo-Huber", self.y,
                 {"objective": "reg:pseudohubererror"}),
                ("pseudo-Huber by loss", self.y,
                 {"objective": "reg:pseudohubererror",
                  "grow_policy": "lossguide", "max_leaves": 6})):
            self.check_training(name, label.astype(np.float32),
                                min_child_weight=0, **options)
        self.checks.done()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    Suite(sys.argv[1]).run()
