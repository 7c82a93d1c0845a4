"""Tests of the figures of a run, and of the table. Run by ctest."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wan", "lab"))
import experiments  # noqa: E402
import observed  # noqa: E402
import summary  # noqa: E402


def steady(mbps, begin, end, start_value=0.0, step=0.02):
    count = round((end - begin) / step)
    return [(begin + i * step, start_value + i * step * mbps * 1e6 / 8) for i in range(count + 1)]


class Runs(unittest.TestCase):
    def setUp(self):
        # 50 Mbit/s, a pause from 5 to 7 s, then 50 Mbit/s again.
        first = steady(50, 0.0, 5.0)
        samples = first + [(t, first[-1][1]) for t in (5.5, 6.0, 6.5)] + steady(50, 7.0, 10.0, first[-1][1])
        self.run = observed.Run(samples, [{"offered_bytes": samples, "delivered_bytes": samples}])

    def test_cost_is_the_time_that_was_lost(self):
        self.assertAlmostEqual(self.run.cost(4.0, 9.0, 50.0), 2.0)
        self.assertAlmostEqual(self.run.cost(0.0, 5.0, 50.0), 0.0)

    def test_silence(self):
        self.assertAlmostEqual(self.run.silence(4.0, 9.0), 2.02)
        self.assertAlmostEqual(self.run.silence(5.2, 6.8), 1.6)

    def test_return_to_a_rate(self):
        self.assertAlmostEqual(self.run.resumes(5.0, 25.0, 4.0), 2.06, delta=0.03)
        self.assertAlmostEqual(self.run.given(0, 5.0, 49.0, 4.0), 2.1, delta=0.03)
        self.assertIsNone(self.run.delivers(0, 5.0, 25.0, 1.5))

    def test_copies_are_a_share_of_what_was_sent(self):
        self.assertIsNone(self.run.copies())
        self.run.said = {"paths": [{"bytes": 150, "reinjected_bytes": 3}, {"bytes": 50, "reinjected_bytes": 0}]}
        self.assertAlmostEqual(self.run.copies(), 1.5)


class Tables(unittest.TestCase):
    figure = experiments.Figure("Mbit/s", None, ("alone", 1.0))
    seconds = experiments.Figure("s", None, 1.0, higher=False, digits=2)

    def test_a_goal_may_be_another_entrants_figure(self):
        self.assertTrue(self.figure.met(96.0, {"alone": 95.0}))
        self.assertFalse(self.figure.met(94.0, {"alone": 95.0}))
        self.assertIsNone(self.figure.met(94.0, {}))
        self.assertTrue(self.seconds.met(0.9, {}))

    def test_above_one_is_better_also_for_seconds(self):
        self.assertAlmostEqual(summary.ratio(self.figure, 90.0, [45.0, 30.0]), 2.0)
        self.assertAlmostEqual(summary.ratio(self.seconds, 0.5, [2.0, 99.0]), 4.0)
        self.assertIsNone(summary.ratio(self.seconds, 0.5, [None]))
        self.assertIsNone(summary.ratio(self.seconds, 0.5, [experiments.NEVER]))

    def test_table(self):
        experiment = experiments.Experiment("x", "an experiment", [], [self.figure])
        rows = [row for name, values in (("udtx", (94, 96, 95)), ("mptcp", (50, 40, 45)), ("alone", (47, 47, 47)))
                for run, value in enumerate(values) for row in summary.rows(experiment, name, run, [value], 0.4, 1.0)]
        text = summary.table(rows, [experiment], ["udtx", "mptcp", "alone"])
        self.assertIn("| an experiment | Mbit/s | 95.0 | 45.0 | 47.0 | 47.0 | yes | 2.11 | 0.4 | 1.0-1.0 |", text)

    def test_what_never_happened_is_said(self):
        self.assertEqual(summary.shown(experiments.NEVER, self.seconds), "never")
        self.assertEqual(summary.shown(None, self.seconds), "-")

    def test_names_differ_and_rates_can_be_read(self):
        every = experiments.everything()
        self.assertEqual(len({e.name for e in every}), len(every))
        self.assertEqual([summary.mbps_of(spec) for spec in every[0].lines], [50.0, 50.0])


if __name__ == "__main__":
    unittest.main()
