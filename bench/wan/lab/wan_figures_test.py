import os
import tempfile
import unittest

import drawn
import figures


class Figures(unittest.TestCase):
    def test_median(self):
        self.assertEqual(figures.median([3, 1, 2]), 2)
        self.assertEqual(figures.median([4, None, 1, 2, 3]), 2.5)
        self.assertIsNone(figures.median([None]))

    def test_jain(self):
        self.assertAlmostEqual(figures.jain([5, 5, 5]), 1.0)
        self.assertAlmostEqual(figures.jain([1, 0, 0, 0]), 0.25)
        self.assertAlmostEqual(figures.jain([3, 1]), 0.8)
        self.assertIsNone(figures.jain([0, 0]))
        self.assertIsNone(figures.jain([]))

    def test_a_counter_between_its_samples(self):
        samples = [(10.0, 0.0), (11.0, 1000.0), (13.0, 2000.0)]
        self.assertEqual(figures.at(samples, 10.5), 500.0)
        self.assertEqual(figures.at(samples, 12.0), 1500.0)
        self.assertEqual(figures.at(samples, 13.0), 2000.0)
        self.assertIsNone(figures.at(samples, 9.9))
        self.assertIsNone(figures.at(samples, 13.1))
        self.assertIsNone(figures.at([], 1.0))

    def test_a_counter_in_steps_is_measured_from_step_to_step(self):
        # 1 MB every 0.4 s (20 Mbit/s), sampled every 50 ms. Windows of any phase give the same rate.
        samples = [(i * 0.05, i // 8 * 1e6) for i in range(201)]
        for shift in (0.0, 0.1, 0.25, 0.35):
            self.assertAlmostEqual(figures.stepped_rate(samples, 3.0 + shift, 7.0 + shift) / 1e6, 20.0)
        # The flow stops at 6 s, and the pause counts.
        stopped = [(t, min(v, 15e6)) for t, v in samples]
        self.assertAlmostEqual(figures.stepped_rate(stopped, 2.0, 10.0) / 1e6, 8 * 10 / 8, places=6)
        self.assertEqual(figures.stepped_rate([], 0.0, 1.0), 0.0)
        self.assertAlmostEqual(figures.stepped_rate([(0.0, 0.0), (10.0, 10e6)], 0.0, 10.0), 8e6)

    def test_fields_of_a_table(self):
        self.assertEqual([figures.value(text) for text in ("1.5", "", "udtx")], [1.5, None, "udtx"])

    def test_rate(self):
        samples = [(0.0, 0.0), (10.0, 10e6)]
        self.assertAlmostEqual(figures.rate(samples, 5.0, 10.0), 8e6)
        # A flow that ended at 10 s carried nothing afterwards.
        self.assertAlmostEqual(figures.rate(samples, 5.0, 15.0), 4e6)
        self.assertEqual(figures.rate([], 0.0, 1.0), 0.0)
        self.assertEqual(figures.rate(samples, 20.0, 21.0), 0.0)

    def test_series(self):
        samples = [(0.0, 0.0), (1.0, 1e6), (2.0, 1e6)]
        self.assertEqual(figures.series(samples, 0.0, 2.0, 1.0), [(0.5, 8.0), (1.5, 0.0)])

    def test_latecomer_settles(self):
        other = [(t, 1e6 * t) for t in range(31)]
        late = [(10.0, 0.0), (13.0, 0.3e6), (30.0, 17.3e6)]
        self.assertEqual(figures.settles_after(late, [other], 10.0, 0.5, 0.1, 1.0, 20.0), 4.0)
        self.assertIsNone(figures.settles_after([(10.0, 0.0), (30.0, 1.0)], [other], 10.0, 0.5, 0.1, 1.0, 20.0))
        # A flow that leaves its share again has not settled.
        gone = [(10.0, 0.0), (25.0, 15e6), (30.0, 15e6)]
        self.assertIsNone(figures.settles_after(gone, [other], 10.0, 0.5, 0.1, 1.0, 20.0))

    def test_ratio_to_best(self):
        self.assertAlmostEqual(figures.ratio_to_best(95.0, [50.0, None, 100.0]), 0.95)
        self.assertIsNone(figures.ratio_to_best(None, [1.0]))
        self.assertIsNone(figures.ratio_to_best(1.0, [None]))

    def test_numbers(self):
        self.assertEqual(figures.numbers("20,0.1"), [20.0, 0.1])
        for text in ("", "1,", "x", "-1", "1e3"):
            with self.assertRaises(ValueError):
                figures.numbers(text)

    def test_markdown(self):
        self.assertEqual(figures.markdown(["a", "b"], [[1, figures.shown(None)]]), "| a | b |\n|---|---|\n| 1 | - |\n")

    def test_a_share_that_misses_a_goal_by_little_shows_it(self):
        self.assertEqual(figures.share(474.4, 499.5), "0.949")
        self.assertEqual(figures.share(95.0, 100.0), "0.950")
        self.assertEqual(figures.share(None, 100.0), "-")


class Traces(unittest.TestCase):
    def setUp(self):
        handle, self.path = tempfile.mkstemp()
        os.close(handle)

    def tearDown(self):
        os.unlink(self.path)

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_line(self):
        self.write("time,line,queue_bytes,queue_peak,wait_ms,offered,queued,delivered,delivered_bytes,dropped_queue,"
                   "dropped_loss,cross_bytes\n"
                   "1.0,down,0,0,99,100,90,90,1000,10,0,0\n"
                   "1.0,up,0,0,0,0,0,0,0,0,0,0\n"
                   "2.0,down,0,0,10,200,180,180,2000,15,5,0\n"
                   "3.0,down,0,0,20,300,450,270,4000,20,10,0\n")
        trace = figures.LineTrace(self.path)
        self.assertAlmostEqual(trace.mean_wait_ms(1.0, 3.0), (10 * 90 + 20 * 270) / 360)
        self.assertIsNone(trace.mean_wait_ms(5.0, 6.0))
        self.assertAlmostEqual(trace.rate(1.0, 3.0), 12000.0)
        self.assertEqual(trace.dropped(1.0, 3.0), (0.05, 0.05))
        self.assertEqual(trace.dropped(2.5, 3.0), (None, None))
        self.assertEqual(len(figures.LineTrace(self.path, "up").rows), 1)

    def test_flows(self):
        self.write("time,line,flow,delivered_bytes\n1.0,down,1,500\n1.0,up,1,50\n2.0,down,2,700\n2.0,down,1,900\n")
        self.assertEqual(figures.flow_counters(self.path), {1: [(1.0, 500.0), (2.0, 900.0)], 2: [(2.0, 700.0)]})


class Drawn(unittest.TestCase):
    def test_each_part_of_each_range_once(self):
        lines = drawn.draw(7)
        self.assertEqual(lines, drawn.draw(7))
        self.assertNotEqual(lines, drawn.draw(8))
        self.assertEqual(len(lines), 60)
        losses = sorted(int(line.loss / 5.0 * 60 - 1e-9) for line in lines)
        self.assertGreater(len(set(losses)), 55)  # rounding may merge some
        self.assertLess(min(line.rate for line in lines), 6.0)
        self.assertGreater(max(line.rate for line in lines), 700.0)
        self.assertTrue(all(5.0 <= line.rtt <= 600.0 and 0.1 <= line.queue <= 8.0 for line in lines))

    def test_who_is_ahead(self):
        row = lambda goodput, wait: {"goodput_mbps": goodput, "wait_ms": wait}  # noqa: E731
        self.assertEqual(drawn.judge(row(10.0, 50.0), [row(9.0, 1.0)])[0], "won")
        self.assertEqual(drawn.judge(row(9.9, 4.0), [row(5.0, 1.0), row(10.0, 10.0)])[0], "level")
        self.assertEqual(drawn.judge(row(9.9, 6.0), [row(10.0, 10.0)])[0], "lost")
        self.assertEqual(drawn.judge(row(9.7, 1.0), [row(10.0, 10.0)])[0], "lost")
        self.assertEqual(drawn.judge(row(None, None), [row(10.0, 10.0)])[0], "no figure")
        self.assertEqual(drawn.judge(row(1.0, 1.0), [row(None, None)])[0], "no figure")

    def test_the_table_counts(self):
        named = {"rate": 10.0, "rtt": 20.0, "loss": 0.0, "queue": 1.0, "run": 1, "faults": "jitter=1.0ms"}
        text = drawn.table([{**named, "tool": "udtx", "goodput_mbps": 9.0, "wait_ms": 1.0},
                            {**named, "tool": "bbr", "goodput_mbps": 8.0, "wait_ms": 5.0}], "udtx")
        self.assertIn("won 1, level 0, lost 0, no figure 0", text)
        self.assertIn("1.125", text)


if __name__ == "__main__":
    unittest.main()
