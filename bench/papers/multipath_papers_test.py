"""Tests of the cells and tables with several paths. Run by ctest; does not need ns-3."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "plot"))
import multipath_cells as cells  # noqa: E402
import multipath_report as report  # noqa: E402


def run(cell, way, **values):
    base = {"mbps": 14.0, "line_mbps": 14.9, "left_mbps": 14.5, "send_queue_mean": 100, "send_queue_max": 500,
            "receive_queue_mean": 10,
            "receive_queue_max": 300, "reorder_mean_ms": 8, "reorder_max_ms": 400, "reinjected_packets": 900,
            "reinjected_share": 0.02, "revivals": 0, "suspensions": 3, "window_after": 4, "seconds": [48.0] * 100}
    return {"cell": cell, "way": way, **base, **values}


class Cells(unittest.TestCase):
    def test_every_cell_once(self):
        every = cells.all_cells()
        self.assertEqual(len({c.slug for c in every}), len(every))
        self.assertTrue(all(c in every for c in cells.quick_cells()))

    def test_options_are_as_the_program_reads_them(self):
        self.assertEqual(cells.option("line", mbps=0.384, queue=50), ("--line", "mbps=0.384,queue=50"))


class Figures(unittest.TestCase):
    def test_gain_of_the_rule(self):
        cell = cells.error_cell(4, 80)
        results = report.Results([run(cell, "without", mbps=1.0), run(cell, "with", mbps=1.1)])
        self.assertAlmostEqual(report.gain(cell, results), 10.0)

    def test_worst_second_leaves_out_the_start_and_the_changes(self):
        seconds = [48.0] * 100
        seconds[0], seconds[20], seconds[60], seconds[61] = 1.0, 2.0, 3.0, 21.0
        self.assertEqual(report.worst_second({"seconds": seconds}), 21.0)

    def test_ramps_are_seconds_20_to_40_and_60_to_80(self):
        seconds = [96.0] * 100
        seconds[20:40], seconds[60:80] = [40.0] * 20, [50.0] * 20
        self.assertEqual(report.in_ramps({"seconds": seconds}), 45.0)

    def test_report_has_every_experiment(self):
        chosen = cells.all_cells()
        text = report.report(chosen, [run(c, way) for c in chosen for way, _ in c.ways], 1)
        for words in ("status monitoring", "figure 8", "figure 9", "figure 10", "SCTP", "| eds, udtx |", "| 10 s |"):
            self.assertIn(words, text)

    def test_tsm_table_stands_beside_the_paper(self):
        cell = cells.tsm_cell()
        text = report.tsm_table(cell, report.Results([run(cell, "rr, reinjection")]))
        self.assertIn("| rr, reinjection | 14.00 | 14.90 | 0.966 | 15.09 | 100, 500 | 135, 1316 | 10.0, 300 | 15, 347 |", text)


if __name__ == "__main__":
    unittest.main()
