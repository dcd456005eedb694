import unittest

import torch
from torch import nn


class TestClassifier(unittest.TestCase):
    def test_rejects_wrong_width(self):
        layer = nn.Linear(8, 2)  # <- linear-size-mismatch
        with self.assertRaises(RuntimeError):
            layer(torch.randn(4, 9))

    def test_shape(self):
        self.assertEqual(nn.Linear(8, 2)(torch.randn(4, 8)).shape, (4, 2))


if __name__ == "__main__":
    unittest.main(argv=["test"], verbosity=0)
