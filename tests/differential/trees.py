"""Random trees, and destinations that have some of their entries in another state."""
import errno
import os
import shutil

from later import mount

NAMES = [b"a", b"b", b"c", b"d", b"e.o", b"f.o", b"core", b"x y", b" lead", b"trail ", b"star*", b"q?", b"br[ab]c",
         b"back\\slash", b"new\nline", b"\xff\xfebytes", "é".encode(), "e\u0301".encode(), b"-dash", b".hidden", b"#hash",
         b"A", b"README", b"readme", b"tab\t", b"quote'\"", b"~", b"semi;colon", b"p%41q", b"keep.me"]

class Node:
    """One entry of a tree. `other`: for a hard link, the path of the entry with the same file."""

    def __init__(self, kind, data=b"", when=0, other=None):
        self.kind, self.data, self.when, self.other = kind, data, when, other


def random_time(rng):
    # Far from now, so that no time is equal by chance. Some are in the same second, some have nanoseconds.
    return (1_500_000_000 + rng.randrange(4)) * 10**9 + rng.choice([0, 0, 1, 500_000_000, 123_456_789])


def random_target(rng, depth):
    inside = [b"a", b"b/c", b"missing", b".", b"../" * depth + b"a", b"a/../b", b"d"]
    outside = [b"/etc/passwd", b"../" * (depth + 1) + b"x", b"..", b"a/../../../x", b"../" * (depth + 3), b"/"]
    return rng.choice(inside + outside)


def random_node(rng, depth, files):
    kind = rng.choices(["file", "dir", "link", "fifo", "hard"], [50, 22, 14, 5, 9])[0]
    if kind == "hard" and not files:
        kind = "file"
    if kind == "file":
        size = rng.choice([0, 1, 5, 5, 5, 700, 5000])
        return Node("file", bytes(rng.randrange(97, 123) for _ in range(size)), random_time(rng))
    if kind == "link":
        return Node("link", random_target(rng, depth))
    if kind == "hard":
        return Node("file", other=rng.choice(files))
    return Node(kind)


def random_tree(rng, most=26):
    tree, directories, files = {}, [b""], []
    for _ in range(rng.randrange(most)):
        directory = rng.choice(directories)
        path = os.path.join(directory, rng.choice(NAMES[:12] if rng.random() < 0.6 else NAMES))
        if path in tree:
            continue
        depth = path.count(b"/")
        node = random_node(rng, depth, files)
        tree[path] = node
        if node.kind == "dir" and depth < 5:
            directories.append(path)
        if node.kind == "file" and node.other is None:
            files.append(path)
    return tree


def put(tree, path, node):
    """Replaces the entry of this name with all entries below it, and makes the directories above."""
    for known in [p for p in tree if p == path or p.startswith(path + b"/")]:
        del tree[known]
    for known in [p for p, n in tree.items() if n.other == path]:
        del tree[known]
    above = os.path.dirname(path)
    while above:
        if above not in tree or tree[above].kind != "dir":
            for known in [p for p in tree if p == above or p.startswith(above + b"/")]:
                del tree[known]
            for known in [p for p, n in tree.items() if n.other is not None and n.other not in tree]:
                del tree[known]
            tree[above] = Node("dir")
        above = os.path.dirname(above)
    tree[path] = node


def random_destination(rng, sources):
    """What an earlier run may have left, and entries that others made."""
    tree = {}
    for source in sources:
        for path, node in sorted(source.items()):
            roll = rng.random()
            if roll < 0.25:
                continue
            if node.kind == "file" and roll < 0.55:
                node = Node("file", node.data, node.when)
                change = rng.random()
                if change < 0.25:  # same size and time, different content
                    node.data = bytes(reversed(node.data))
                elif change < 0.5:
                    node.data += b"longer"
                elif change < 0.7:
                    node.when += rng.choice([1, 10**9, 3600 * 10**9])
            elif roll < 0.75 and roll >= 0.55:
                node = random_node(rng, path.count(b"/"), [])
            put(tree, path, node)
    for path, node in random_tree(rng, 14).items():
        if node.other is not None:
            node = Node("file", b"other", random_time(rng))
        if rng.random() < 0.8 and path not in tree:
            put(tree, path, node)
    return tree


def share_files(rng, tree):
    """Makes some names of a tree lead to one file."""
    for _ in range(rng.randrange(1, 4)):
        files = sorted(path for path, node in tree.items() if node.kind == "file" and node.other is None)
        led_to = {node.other for node in tree.values()}
        others = [path for path in files if path not in led_to]
        if len(files) < 2 or not others:
            return
        path = rng.choice(others)
        first = rng.choice([name for name in files if name != path])
        # Half of them are what the source has under one of the names.
        if rng.random() < 0.5:
            tree[first] = Node("file", tree[path].data, tree[path].when)
        tree[path] = Node("file", other=first)


def link_all(root, to):
    """As cp -al: a snapshot of the files of `root` that shares them."""
    for directory, below, names in os.walk(root):
        at = os.path.join(to, os.path.relpath(directory, root))
        os.makedirs(at, exist_ok=True)
        for name in names:
            os.link(os.path.join(directory, name), os.path.join(at, name), follow_symlinks=False)


def build(tree, root, mounts=()):
    os.makedirs(root, exist_ok=True)
    ordered = sorted(tree.items(), key=lambda item: item[1].other is not None)
    for path, node in sorted(ordered, key=lambda item: (item[1].other is not None, item[0])):
        at = os.path.join(root, path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if node.kind == "dir":
            os.makedirs(at, exist_ok=True)
            if path in mounts:
                mount(at)
        elif node.kind == "link":
            os.symlink(node.data, at)
        elif node.kind == "fifo":
            os.mkfifo(at)
        elif node.other is not None:
            try:
                os.link(os.path.join(root, node.other), at)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                shutil.copy2(os.path.join(root, node.other), at)
        else:
            with open(at, "wb") as out:
                out.write(node.data)
            os.utime(at, ns=(node.when, node.when))
