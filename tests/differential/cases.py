"""What is sent, to which destination, with which options: all drawn from one seed."""
import os
import random

from trees import Node, random_destination, random_tree, share_files

PATTERNS = [b"*.o", b"core", b"a", b"/a", b"b/", b"/b/", b"d/***", b"**/c", b"c/**", b"a*", b"*e*", b"[a-d]", b"[!a-d]",
            b"a/b", b"/a/b", b"*/b", b"star*", b"star\\*", b"q?", b"br[[]ab]c", b".*", b"keep.me", b"*", b"*/", b"README",
            b"**", b"b/*", b"- c", b"+ a", b"[[:upper:]]*", b"x y", b"d/**/a", b"/*/a", b"/**/b"]


class Case:
    """One case: the sources, the destination and the options."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.pull = rng.random() < 0.35
        several = rng.random() < 0.3
        self.trees = [random_tree(rng) for _ in range(rng.choice([2, 2, 3]) if several else 1)]
        # The form of a source is "dir/" or "dir". If there are several, some share their last name.
        self.form = rng.choice(["contents", "contents", "directory"] if not several else
                               ["contents", "directory", "same", "mixed"])
        self.file_list = None
        self.delete = self.hard = False
        # By default rsync ignores nanoseconds.
        self.udtx, self.rsync = [], ["-t", "--modify-window=-1"]
        self.choose_options(rng, several)
        self.names = [b"s%d" % i for i in range(len(self.trees))]
        if self.form == "same":
            self.names = [b"p%d/same" % i for i in range(len(self.trees))]
        self.slash = [self.form == "contents" or (self.form == "mixed" and i % 2 == 0)
                      for i in range(len(self.trees))]
        placed = [tree if slash else {os.path.join(os.path.basename(name), p): n for p, n in tree.items()}
                  for tree, name, slash in zip(self.trees, self.names, self.slash)]
        self.placed = [{p: (n if n.other is None else tree[n.other]) for p, n in there.items()}
                       for there, tree in zip(placed, self.trees)]
        self.destination = random_destination(rng, self.placed)
        # Names at the destination share a file, as after a deduplication, and a snapshot by hard links shares all.
        shared = random.Random(f"{seed} shared")
        if shared.random() < 0.3:
            share_files(shared, self.destination)
        self.snapshot = shared.random() < 0.3
        self.choose_later(random.Random(f"{seed} what follows"))
        # There is a file that differs in its time only.
        self.destination_files = {path: node if node.other is None else self.destination[node.other]
                                  for path, node in self.destination.items() if node.kind == "file"}
        self.touched = any(there.kind == "file" and there.data == node.data and there.when != node.when
                           for tree in self.placed for path, node in tree.items() if node.kind == "file"
                           for there in [self.destination_files.get(path)] if there is not None)

    def choose_later(self, rng):
        """Whether the sources change before a second run, one grows meanwhile, and where something is mounted."""
        self.again = rng.random() < 0.5
        links = any(option in self.udtx for option in ("--links", "--safe-links", "--no-links"))
        plain = not self.hard and not links and self.file_list is None and len(self.trees) == 1
        self.archive = self.again and plain and rng.random() < 0.5
        if self.archive:
            self.both(["-a"], ["-a", "-H", "--no-D"])
        linked = {node.other for node in self.trees[-1].values()}
        files = sorted(path for path, node in self.trees[-1].items() if node.kind == "file" and node.data and path not in linked)
        self.grows = rng.choice(files) if files and "never" not in self.udtx and rng.random() < 0.25 else None
        self.source_mounts, self.mounts = [], []
        if self.hard or self.archive or self.snapshot or rng.random() < 0.6:
            return
        here = sorted(path for path, node in self.trees[0].items() if node.kind == "dir")
        there = sorted(path for path, node in self.destination.items() if node.kind == "dir")
        self.source_mounts = rng.sample(here, min(len(here), rng.randrange(2)))
        self.mounts = rng.sample(there, min(len(there), rng.randrange(1, 3)))

    def in_destination(self, path):
        """Where the last source's entry goes."""
        return path if self.slash[-1] else os.path.join(os.path.basename(self.names[-1]), path)

    def both(self, udtx, rsync=None):
        self.udtx += udtx
        self.rsync += udtx if rsync is None else rsync

    def choose_options(self, rng, several):
        listed = not several and self.form == "contents" and rng.random() < 0.25
        into = not listed or rng.random() < 0.4
        if into:
            self.rsync += ["-r"]
        links = rng.choice(["keep", "keep", "keep", "safe", "none"])
        if links == "keep":
            self.both(rng.choice([[], ["--links"]]), ["-l"])
        elif links == "safe":
            self.both(["--safe-links"], ["-l", "--safe-links"])
        else:
            self.both(["--no-links"], [])
        if listed:
            self.file_list = self.some_names(rng)
            if into:
                self.udtx += ["-r"]
        elif rng.random() < 0.6:
            self.delete = True
            self.both(["--delete"])
        compare = rng.random()
        if compare < 0.15:
            self.both(["-c"])
        elif compare < 0.25:
            self.both(["--overwrite", "always"], ["-I"])
        elif compare < 0.4:
            self.both(["--overwrite", "never"], ["--ignore-existing"])
        # rsync 3.5 itself fails with -H and several sources that have common names.
        if not several and rng.random() < 0.15:
            self.hard = True
            self.both(["-H"])
        for _ in range(rng.choice([0, 0, 0, 1, 2, 4])):
            pattern = rng.choice(PATTERNS)
            self.both([rng.choice(["--exclude", "--exclude", "--include"]), pattern])
        above = [os.path.dirname(n.rstrip(b"/.")) for n in self.file_list or [] if b"/" in n.rstrip(b"/.")]
        if above and rng.random() < 0.5:
            self.both(["--exclude", rng.choice(PATTERNS[:1] + above).split(b"/")[-1]])
        self.pattern_file = [rng.choice(PATTERNS) for _ in range(3)] if rng.random() < 0.15 else None

    def some_names(self, rng):
        paths = sorted(self.trees[0])
        out = []
        for path in rng.sample(paths, min(len(paths), rng.randrange(1, 6))):
            suffix = rng.choice([b"", b"", b"/", b"/."]) if self.trees[0][path].kind == "dir" else b""
            out.append(path + suffix)
        return out or [b"."]
