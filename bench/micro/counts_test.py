"""Tests of counts.py without valgrind."""
import unittest

import counts


class CountsTest(unittest.TestCase):
    def test_reads_what_callgrind_annotate_prints(self):
        listed = """
258,618,730 (100.0%)  PROGRAM TOTALS
127,711,647 (49.38%)  ???:udtx_measured_send [/build/udtx-bench-packets]
 83,688,538 (32.36%)  packets.cpp:udtx_measured_receive [/build/udtx-bench-packets]
  9,954,986           ???:udtx_measured_ack_send
  1,000 ( 0.00%)  ???:udtx_measured_ack_send'2 [/build/udtx-bench-packets]
  2,000 ( 0.00%)  ???:something_else [/build/udtx-bench-packets]
"""
        self.assertEqual(counts.parse(listed), {"udtx_measured_send": 127711647, "udtx_measured_receive": 83688538,
                                                "udtx_measured_ack_send": 9954986})

    def test_a_rise_of_more_than_5_percent_is_seen(self):
        baseline = {"send": 1000, "receive": 1000, "read ACKs": 1000}
        rows, risen = counts.compare({"send": 1051, "receive": 1050, "read ACKs": 500, "new": 7}, baseline)
        self.assertEqual(rows, [("send", 1051, 1000), ("receive", 1050, 1000), ("read ACKs", 500, 1000), ("new", 7, None)])
        self.assertEqual(len(risen), 1)
        self.assertIn("send: 1051", risen[0])
        self.assertIn("5.1 %", risen[0])


if __name__ == "__main__":
    unittest.main()
