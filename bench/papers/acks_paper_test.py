"""Tests of the cells and tables of the ACK regeneration paper. Run by ctest; does not need ns-3."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "plot"))
import acks_paper  # noqa: E402

GOODPUT = {"normal": 500.0, "ar": 1000.0, "dar": 1100.0, "udtx": 1800.0}


def run(cell, scheme, goodput=None, acks=(3, 4)):
    return {"scheme": scheme, "down_mbps": cell.down, "up_kbps": cell.uplink, "bit_errors": cell.errors,
            "goodput_kbps": goodput or GOODPUT[scheme], "acks": sum(acks), "made": 2, "overtaken": 1,
            "acks_each_second": list(acks)}


class Acks(unittest.TestCase):
    def setUp(self):
        self.cells = acks_paper.all_cells()
        self.runs = [run(c, s) for c in self.cells for s in acks_paper.SCHEMES]

    def test_every_cell_once(self):
        self.assertEqual(len({c.slug for c in self.cells}), 9)
        self.assertTrue(all(c in self.cells for c in acks_paper.quick_cells()))

    def test_gains_stand_beside_the_paper(self):
        text = acks_paper.report(self.cells, self.runs, 1)
        self.assertIn("| 8 | 0 | 500 | 1000 | 1100 | 1800 | +100 % | +120 % | +66 to +232 % | +10.0 % | +0.1 to +0.2 % |", text)
        self.assertIn("| 24 | 1e-06 |", text)

    def test_sweep_has_a_row_for_each_rate_down_and_rate_of_errors(self):
        cells = acks_paper.sweep_cells()
        self.assertEqual(len({c.slug for c in cells}), 45)
        text = acks_paper.sweep_report([run(c, s) for c in cells for s in acks_paper.SCHEMES], 1)
        self.assertIn("| 3.5 | 1e-07 | +120, +120, +120 | +21 to +204 % | +10.0, +10.0, +10.0 | +5 to +26 % |", text)

    def test_figure_5_takes_the_run_nearest_to_the_mean(self):
        cell = acks_paper.Cell(*acks_paper.FIGURE_5)
        results = acks_paper.Results([run(cell, "ar", g, (g, g)) for g in (100.0, 190.0, 310.0)])
        self.assertEqual(results.typical(cell, "ar")["acks_each_second"], [190.0, 190.0])

    def test_both_figures_are_drawn(self):
        with tempfile.TemporaryDirectory() as out:
            for path in acks_paper.draw(out, self.cells, self.runs):
                with open(path, encoding="utf-8") as file:
                    self.assertIn("AF/DAR", file.read())


if __name__ == "__main__":
    unittest.main()
