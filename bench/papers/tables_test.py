"""Tests of the cells and tables. Run by ctest; does not need ns-3."""
import os
import tempfile
import unittest

import cells
import tables


def run(cell, controller, **values):
    base = {"throughput_mbps": 60.0, "steady_mbps": 60.0, "dropped": 100, "dropped_from_10": 10, "dropped_20_30": 5,
            "queue_ms": 50.0, "mean_jain": 0.8, "mean_min_max": 0.5, "mean_deviation": 0.4, "joined_jain": 0.9,
            "joined_min_max": 0.5, "fair_after_s": None, "joined_mbps": 90.0, "dropped_joined": 0}
    return {"cell": cell, "controller": controller, **base, **values}


class Cells(unittest.TestCase):
    def test_queue_sizes(self):
        self.assertEqual(cells.queue_packets("2500p", 140), 2500)
        self.assertEqual(cells.queue_packets("1 BDP", 120), 999)  # 100 Mbit/s x 120 ms / 1502 bytes
        self.assertEqual(cells.queue_packets("0.1 BDP", 50), 42)

    def test_matrix_has_every_cell_once(self):
        every = cells.all_cells()
        self.assertEqual(len(every), 5 + 10 + 20 + 12)
        self.assertEqual(len({c.slug for c in every}), len(every))
        self.assertTrue(all(c in every for c in cells.quick_cells() + cells.sweep_cells()))


class CrossTraffic(unittest.TestCase):
    def test_phases(self):
        self.assertIsNone(tables.cross_is_on(4.9))
        self.assertIsNone(tables.cross_is_on(5.2))  # just switched on
        self.assertTrue(tables.cross_is_on(6.9))
        self.assertIsNone(tables.cross_is_on(7.2))  # just switched off
        self.assertFalse(tables.cross_is_on(7.9))
        self.assertTrue(tables.cross_is_on(9.0))

    def test_means_by_phase(self):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "samples.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("time_s,pair1,mtr1\n1,90,90\n6,50,60\n6.5,52,70\n7.1,9,9\n7.8,98,97\n")
            self.assertEqual(tables.mtr_means(path), {"mtr_pair_on": 51, "mtr_pair_off": 98, "mtr_mtr_on": 65,
                                                      "mtr_mtr_off": 97})


class Claims(unittest.TestCase):
    fair = cells.paper_cell("fairness", 100, "2500p", 3, True, 40)
    single = cells.paper_cell("throughput", 10, "2500p", 1, True, 40)

    def test_gain_is_the_ratio_of_deviations(self):
        results = tables.Results([run(self.fair, "udt", mean_deviation=0.434), run(self.fair, "cd", mean_deviation=0.2)])
        self.assertAlmostEqual(tables.gain(results, self.fair), 2.17)

    def test_means_over_seeds_and_missing_values(self):
        results = tables.Results([run(self.fair, "cd", mean_jain=0.8), run(self.fair, "cd", mean_jain=0.9),
                                  run(self.fair, "udt", mean_jain=0.7)])
        self.assertAlmostEqual(results.mean(self.fair, "cd", "mean_jain"), 0.85)
        self.assertAlmostEqual(tables.unfairness_removed(results, self.fair), 0.5)
        self.assertIsNone(results.mean(self.fair, "udtx", "mean_jain"))
        self.assertIsNone(results.mean(self.fair, "cd", "fair_after_s"))

    def test_checks_say_what_is_missed(self):
        results = tables.Results([
            run(self.fair, "udt", mean_deviation=0.5), run(self.fair, "cd", mean_deviation=0.25, dropped=50),
            run(self.single, "udt"), run(self.single, "cd", throughput_mbps=50.0, dropped=200)])
        text = "\n".join(tables.paper_checks([self.fair, self.single], results))
        self.assertIn("in the whole run: 1 of 2 cells, as much in 0, more in 1.", text)
        self.assertIn("within 3%: 0 of 1 cells; not in 10 ms, 2500p.", text)
        self.assertIn("0 of 1 cells. Highest: 2.00 in 100 ms, 2500p, on/off.", text)

    def test_report_has_every_section_and_leaves_out_who_did_not_run(self):
        chosen = cells.quick_cells()
        runs = [run(c, name) for c in chosen for name in ("udt", "cd")]
        text = tables.report(chosen, ["udt", "cd"], runs, 1)
        for _, title, _ in tables.SECTIONS:
            self.assertIn(title, text)
        self.assertNotIn("udtx", text)

    def test_sweep_has_a_row_for_each_pair(self):
        chosen = [self.fair]
        swept = [run(self.fair, "cd", thresholds=(0.1, 0.5), mean_deviation=0.2, dropped_from_10=5)]
        text = tables.sweep_report(chosen, [(0.1, 0.5)], [run(self.fair, "udt")], swept, 1)
        self.assertIn("| 0.1 | 0.5 | 0.800 | 0 of 1 cells | 2.00 | 2.00 | 2.00 | 0.50 |", text)


if __name__ == "__main__":
    unittest.main()
