"""Tests of the charts: scales, shapes and the two commands. Run by ctest."""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import chart

HERE = os.path.dirname(os.path.abspath(__file__))


class Ticks(unittest.TestCase):
    def test_are_round_and_inside(self):
        self.assertEqual(chart.nice_ticks(0, 100), [0, 20, 40, 60, 80, 100])
        self.assertEqual(chart.nice_ticks(3, 41, about=10), [5, 10, 15, 20, 25, 30, 35, 40])

    def test_survive_an_empty_range(self):
        self.assertTrue(chart.nice_ticks(5, 5))


class Paths(unittest.TestCase):
    frame = chart.Frame(0, (0.0, 10.0), (0.0, 10.0))

    def test_line_breaks_at_a_missing_value(self):
        data = chart.path_of(self.frame, chart.Series("a", [0, 1, 2, 3], [1, None, 2, 3]))
        self.assertEqual((data.count("M"), data.count("L")), (2, 1))

    def test_step_holds_its_value(self):
        data = chart.path_of(self.frame, chart.Series("a", [0, 5, 10], [2, 2, 8], "step"))
        self.assertEqual(data, "M64.0 211.6H404.0H744.0V78.4")

    def test_larger_values_are_higher_up(self):
        self.assertLess(self.frame.y(8), self.frame.y(2))
        self.assertLess(self.frame.x(2), self.frame.x(8))


class Commands(unittest.TestCase):
    def draw(self, script, csv, *args):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "in.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write(csv)
            out = os.path.join(work, "out.svg")
            args = [a.replace("IN", path) for a in args]
            done = subprocess.run([sys.executable, os.path.join(HERE, script), "-o", out, *args],
                                  capture_output=True, text=True, check=False)
            return done, ElementTree.parse(out).getroot() if done.returncode == 0 else None

    def test_lines(self):
        done, root = self.draw("lines.py", "t,v\n0,1\n1,2\n2,\n3,4\n", "--title", "a < b", "x=IN:t:v")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a < b", [e.text for e in root.iter() if e.text])

    def test_bars(self):
        done, root = self.draw("bars.py", "cell,udt,cd\none,1,2\ntwo,3,\n", "--group", "cell", "--values", "udt,cd",
                               "IN")
        self.assertEqual(done.returncode, 0, done.stderr)
        rectangles = [e for e in root.iter() if e.tag.endswith("rect")]
        self.assertEqual(len(rectangles), 1 + 3 + 2)  # background, bars, legend

    def test_unknown_column_is_named(self):
        done, _ = self.draw("lines.py", "t,v\n0,1\n", "x=IN:t:w")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no column 'w'", done.stderr)


if __name__ == "__main__":
    unittest.main()
