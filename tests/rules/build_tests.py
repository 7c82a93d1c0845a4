"""Finds the tests of a build directory and the sources of each test."""
import pathlib
import re

ADDED = re.compile(r'^add_test\((?:\[=*\[)?"?([^\]\s"]+)"?(?:\]=*\])? (.*)\)$', re.M)
BESIDE = re.compile(r"[\w./-]+\.(?:py|sh|cpp|hpp)\b")


def commands(build):
    """{test: words of its command}, from the files that CMake wrote for ctest."""
    found = {}
    for path in sorted(build.rglob("CTestTestfile.cmake")):
        for name, words in ADDED.findall(path.read_text()):
            found[name] = re.findall(r'"([^"]*)"', words)
    return found


def programs(build):
    """{program: its sources}, from the file that tests/CMakeLists.txt wrote."""
    lines = (build / "tests/programs.txt").read_text().splitlines()
    return {line.split(": ")[0]: line.split(": ")[1].split(";") for line in lines if ": " in line}


def with_neighbours(path, seen):
    """Adds a file to `seen`, and for a script also the files of its directory that it names, recursively."""
    if path in seen or not path.is_file():
        return
    seen[path] = path.read_text(errors="replace")
    if path.suffix in (".sh", ".py") or not path.suffix:
        for name in BESIDE.findall(seen[path]):
            neighbour = path.parent / pathlib.Path(name).name
            # Files that many scripts share have no cases.
            if neighbour.name not in ("lib.sh", "ssh_lib.sh"):
                with_neighbours(neighbour, seen)


def sources_of_tests(root, build):
    """{test: {path below the root: text}}."""
    made_of = programs(build)
    rules = root / "tests/rules"  # these scripts name cases but do not test them
    result = {}
    for test, words in commands(build).items():
        seen = {}
        for word in words:
            path = pathlib.Path(word)
            if path.name in made_of:
                for source in made_of[path.name]:
                    with_neighbours(pathlib.Path(source), seen)
            elif path.is_absolute() and root in path.parents and build not in path.parents:
                with_neighbours(path, seen)
        result[test] = {str(path.relative_to(root)): text for path, text in seen.items() if root in path.parents and rules not in path.parents}
    return result
