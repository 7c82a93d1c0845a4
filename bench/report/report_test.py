"""Cases of bench/report and bench/stale, on a project of their own."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPORT, STALE = HERE / "run", HERE.parent / "stale" / "run"
RESULT = {"command": "bench/x/run -n 3", "date": "2026-11-28", "commit": "HEAD", "machine": "two processors", "measures": ["src", "apps"],
          "columns": ["tool", "Gbit/s"], "rows": [["udtx", "9.79 (8.8 to 10.1)"], ["other", "5.47"]],
          "bars": {"title": "speed", "unit": "Gbit/s", "values": ["Gbit/s"]}}
HEADLINE = {"figure": "speed", "result": "speed", "row": "udtx", "column": "Gbit/s", "unit": "Gbit/s", "beside": ["other"]}


class Project(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.place.name)
        for directory in ("docs/lab", "bench/results", "src", "apps"):
            (self.root / directory).mkdir(parents=True)
        (self.root / "README.md").write_text("Top\n<!-- headlines -->\n<!-- end -->\nBottom\n")
        (self.root / "docs/lab/speed.md").write_text("Text\n<!-- result speed -->\nold\n<!-- end -->\nMore\n")
        (self.root / "src/code").write_text("one")
        (self.root / "apps/code").write_text("one")
        self.headlines([HEADLINE])
        self.result(RESULT)

    def tearDown(self):
        self.place.cleanup()

    def headlines(self, lines):
        (self.root / "bench/results/headlines.json").write_text(json.dumps(lines))

    def result(self, result, name="speed"):
        (self.root / f"bench/results/{name}.json").write_text(json.dumps(result))

    def call(self, program, *words):
        return subprocess.run([sys.executable, "-B", str(program), "--root", str(self.root), *words], capture_output=True, text=True,
                              check=False)

    def git(self, *words):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        done = subprocess.run(["git", "-C", str(self.root), "-c", "user.name=x", "-c", "user.email=x@y", *words], env=environment,
                              capture_output=True, text=True, check=True)
        return done.stdout.strip()


class Report(Project):
    def test_makes_tables_and_pictures_and_then_finds_no_difference(self):
        self.assertEqual(self.call(REPORT, "--check").returncode, 1)
        self.assertEqual(self.call(REPORT).returncode, 0)
        page = (self.root / "docs/lab/speed.md").read_text()
        self.assertIn("<!-- result speed -->\n| tool | Gbit/s |\n| --- | --- |\n| udtx | 9.79 (8.8 to 10.1) |\n", page)
        self.assertIn("| other | 5.47 |\n\nMeasured 2026-11-28, commit `HEAD`, two processors.\n<!-- end -->", page)
        self.assertTrue(page.startswith("Text\n") and page.endswith("<!-- end -->\nMore\n"))
        self.assertIn("| speed | 9.79 Gbit/s | other 5.47 Gbit/s | `bench/x/run -n 3` |", (self.root / "README.md").read_text())
        self.assertIn("<svg", (self.root / "docs/pictures/speed.svg").read_text())
        self.assertEqual(self.call(REPORT, "--check").returncode, 0)

    def test_a_changed_figure_is_found(self):
        self.call(REPORT)
        page = self.root / "README.md"
        page.write_text(page.read_text().replace("9.79", "9.99"))
        done = self.call(REPORT, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("README.md: differs", done.stdout)

    def test_the_caption_tells_what_is_known_of_the_commit(self):
        page = self.root / "docs/lab/speed.md"
        for change, caption in (({"commit": "unknown"}, "Measured by 2026-11-28, commit not recorded, two processors."),
                                ({"commit": "unknown", "recorded": "0123456789"},
                                 "Measured by 2026-11-28, commit not recorded (written down in `01234567`), two processors."),
                                ({"calculated": True}, "Calculated from figures of 2026-11-28, commit `HEAD`, two processors.")):
            self.result({**RESULT, **change})
            self.assertEqual(self.call(REPORT).returncode, 0)
            self.assertIn(caption, page.read_text())

    def test_a_figure_of_the_text_that_no_result_has_is_found(self):
        page = self.root / "docs/lab/speed.md"
        marks = "<!-- result speed -->\n<!-- end -->\n"
        contents = self.root / "docs/lab/README.md"
        founded = f"40 ms. **Measured.** Load `99`, 2026-11-28, at 3f2a9bc.\n{marks}At 40 ms 9.79 and 10.1 beside 5.47 [x](a77.md)\n"
        page.write_text(founded)
        contents.write_text("| [speed](speed.md) | How fast? | 9.79 |\n")
        self.assertEqual(self.call(REPORT).returncode, 0)
        done = self.call(REPORT, "--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        page.write_text(founded + "It was 1.77 times as fast.\n")
        contents.write_text("| [speed](speed.md) | How fast? | 9.97 |\n")
        self.call(REPORT)
        done = self.call(REPORT, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("docs/lab/speed.md:11: 1.77 is in no result", done.stdout)
        self.assertIn("docs/lab/README.md:1: speed.md has no 9.97", done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)

    def test_a_calculated_result_says_so(self):
        self.result({**RESULT, "calculated": True})
        self.call(REPORT)
        self.assertIn("\nCalculated from figures of 2026-11-28, commit", (self.root / "docs/lab/speed.md").read_text())

    def test_a_page_without_a_set_up_is_checked_as_a_whole(self):
        page = self.root / "docs/lab/speed.md"
        page.write_text("It has 64 slots. It took 9.79 of 12 Gbit/s | 77.5 | and 0.88 of the link.\n<!-- result speed -->\n<!-- end -->\n")
        self.call(REPORT)
        done = self.call(REPORT, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([line.split(" is in")[0] for line in done.stdout.splitlines()],
                         ["docs/lab/speed.md:1: 12", "docs/lab/speed.md:1: 0.88"])

    def test_digits_of_a_commit_a_date_and_a_path_are_no_figures(self):
        self.result({**RESULT, "commit": "c740c7fe", "measures": ["src77", "apps"], "command": "bench/x/run \u2013n 3"})
        page = self.root / "docs/lab/speed.md"
        page.write_text("At 740 and 2026 and 77 and 2013 and 9.79 Gbit/s.\n<!-- result speed -->\n<!-- end -->\n")
        self.call(REPORT)
        done = self.call(REPORT, "--check")
        self.assertEqual([line.split(" is in")[0].split()[-1] for line in done.stdout.splitlines()], ["740", "2026", "77", "2013"])

    def test_what_does_not_fit_is_named(self):
        for change, said in (({"measures": []}, "names no path"), ({"rows": [["udtx"]]}, "a row has 1 cells"), ({"date": 7}, "'date'")):
            self.result({**RESULT, **change})
            done = self.call(REPORT)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)
        self.result({**RESULT, "measures": ["src"]})
        self.assertIn("a rate depends on more than src", self.call(REPORT).stderr)
        self.result({**RESULT, "measures": ["src"], "machine": "virtual time"})
        self.assertEqual(self.call(REPORT).returncode, 0)
        self.result(RESULT)
        self.result(RESULT, "unseen")
        self.assertIn("no page shows unseen", self.call(REPORT).stderr)
        (self.root / "bench/results/unseen.json").unlink()
        self.headlines([{**HEADLINE, "row": "nobody"}])
        self.assertIn("there is no 'nobody'", self.call(REPORT).stderr)
        self.headlines([HEADLINE])
        readme = (self.root / "README.md").read_text()
        (self.root / "README.md").write_text("nothing\n")
        self.assertIn("README.md has no '<!-- headlines -->'", self.call(REPORT).stderr)
        (self.root / "README.md").write_text(readme)
        (self.root / "docs/lab/speed.md").write_text("<!-- result speed -->\nno end\n")
        self.assertIn("docs/lab/speed.md: a mark", self.call(REPORT).stderr)


    def test_readme_says_who_is_faster(self):
        readme = self.root / "README.md"
        self.result({**RESULT, "rows": [["udtx", "9.79 (8.8 to 10.1)"], ["other", "11.2"], ["third", "9.8"], ["last", "9.7"]]})
        self.headlines([{**HEADLINE, "beside": ["other", "third", "last"]}])
        self.call(REPORT)
        self.assertIn("| speed | 9.79 Gbit/s, behind other and third | other 11.2 Gbit/s,", readme.read_text())
        self.headlines([{**HEADLINE, "unit": "s", "beside": ["other", "last"]}])
        self.call(REPORT)
        self.assertIn("| speed | 9.79 s, behind last | other 11.2 s, last 9.7 s |", readme.read_text())


class Stale(Project):
    def setUp(self):
        super().setUp()
        try:
            self.git("init", "-q")
        except FileNotFoundError:
            self.skipTest("needs git")
        self.git("add", ".")
        self.git("commit", "-qm", "one")
        self.result({**RESULT, "command": "cd x\nbench/x/run -n 3", "commit": self.git("rev-parse", "HEAD")})

    def change(self, name, text):
        (self.root / name).write_text(text)
        self.git("add", ".")
        self.git("commit", "-qm", name)

    def test_only_a_change_of_its_code_makes_a_result_stale(self):
        self.change("other", "two")
        self.assertEqual(self.call(STALE).returncode, 0)
        self.change("src/code", "two")
        done = self.call(STALE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("speed: 1 commit since", done.stdout)
        self.assertIn("README.md shows it", done.stdout)
        self.assertIn("\n    docs/lab/speed.md\n    cd x\n    bench/x/run -n 3\n", done.stdout)
        self.headlines([])
        self.assertEqual(self.call(STALE).returncode, 0)

    def test_a_comment_measures_nothing(self):
        for name, before, after in (("a.cpp", "int a = 1;  // one\n", "// more\nint a =\n    1;\n"),
                                    ("a.py", '"""One."""\n# two\na = "# 3"\n', '"""More\nlines."""\na = "# 3"\n'),
                                    ("a.rs", "fn a() {}  // one\n", "// two\nfn a() {}\n"),
                                    ("a.sh", "#!/bin/sh\n# one\na\n", "#!/bin/sh\na\n\n    # two\n"),
                                    ("run", "#!/usr/bin/env python3\na = 1  # one\n", "#!/usr/bin/env python3\na = 1\n")):
            self.assertEqual(self.changed(name, before, after), "0 of 1 results are stale\n", name)

    def changed(self, name, before, after):
        """What the program says if a file changes after the measurement."""
        self.change(f"src/{name}", before)
        self.result({**RESULT, "commit": self.git("rev-parse", "HEAD")})
        self.change(f"src/{name}", after)
        return self.call(STALE).stdout

    def test_what_only_looks_like_a_comment_or_a_layout_is_code(self):
        text = 'X = """\nx\n"""\ndef f():\n    """D."""\n'
        for name, before, after in (("a.py", "for x in y:\n    a()\n    b()\n", "for x in y:\n    a()\nb()\n"),
                                    ("b.py", text, text.replace("f()", "f(y)")),
                                    ("c.py", "a syntax error\n# one\n", "a syntax error\n# two\n"),
                                    ("a.rs", "#[derive(A)]\n", "#[derive(B)]\n"), ("a.md", "# One\n", "# Two\n"),
                                    ("a.css", "#a {\n", "#b {\n"), ("rules", "# one\n", "# two\n"),
                                    ("a.cpp", "int a = 1;\n", "int a = 2;\n"), ("d.py", 'a = "# 3"\n', 'a = "# 4"\n'),
                                    ("a.sh", "cat <<E\n#include <a>\nE\n", "cat <<E\n#include <b>\nE\n")):
            self.assertIn("\n1 of 1 results are stale\n", self.changed(name, before, after), name)

    def test_a_path_that_does_not_exist_is_named(self):
        self.result({**RESULT, "measures": ["src", "gone"]})
        done = self.call(STALE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("speed measures gone, which does not exist", done.stderr)

    def test_an_unknown_commit_is_named(self):
        self.result({**RESULT, "commit": "0" * 40})
        done = self.call(STALE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not in this clone", done.stdout)
        self.headlines([])
        self.result({**RESULT, "commit": "unknown"})
        done = self.call(STALE)
        self.assertEqual(done.returncode, 0)
        self.assertIn("speed: the commit was not recorded", done.stdout)


if __name__ == "__main__":
    unittest.main()
