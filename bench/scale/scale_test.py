"""Tests of the fitted growth. Run by ctest."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import growth  # noqa: E402


class Fit(unittest.TestCase):
    def test_power_law_is_found(self):
        a, b, r2 = growth.fit([1, 10, 100, 1000], [3, 3 * 10 ** 0.5, 30, 30 * 10 ** 0.5])
        self.assertAlmostEqual(a, 3)
        self.assertAlmostEqual(b, 0.5)
        self.assertAlmostEqual(r2, 1)

    def test_constant_does_not_grow(self):
        self.assertAlmostEqual(growth.fit([1, 10, 100], [7, 7, 7])[1], 0)

    def test_zero_and_missing_values_are_left_out(self):
        self.assertAlmostEqual(growth.fit([0, 1, 2, 4, 8], [9, 1, 2, 4, None])[1], 1)
        self.assertIsNone(growth.fit([0, 1, 2], [1, 1, 2]))

    def test_sentence_names_both_ends(self):
        text = growth.sentence("memory", "MB", "bytes", [1, 10, 100], [5, 50, 500])
        self.assertEqual(text, "memory grows as bytes^1.00 (R^2 1.00): 5 MB at 1, 500 at 100")


if __name__ == "__main__":
    unittest.main()
