"""Intended differences between rsync and udtx."""


def below(path, roots):
    return path is not None and any(path == root or path.startswith(root + b"/") for root in roots)


def kinds_meet(case):
    """Paths that are a directory in one source and another kind in a second one."""
    kinds = {}
    for tree in case.placed:
        for path, node in tree.items():
            kinds.setdefault(path, set()).add(node.kind == "dir")
    return [path for path, found in kinds.items() if len(found) > 1]


def holds_mount(case, path):
    """A path at or below a mount point, above one, or below a directory with one that another kind is to replace."""
    replaced = [p for tree in case.placed for p, node in tree.items() if node.kind != "dir"]
    tops = [p for p in replaced if any(below(m, [p]) for m in case.mounted)]
    return below(path, case.mounted) or any(below(m, [path]) for m in case.mounted) or below(path, tops)


# The intended differences: a reason, and a rule over an outcome and one path (None: the exit codes).
ALLOWED = {
    "sources without anything to send": (
        "a source that is empty may be a disk that is not mounted: nothing is deleted, and the run says so",
        lambda o, path, rsync, udtx: o.case.delete and "the sources are empty" in o.said and
        (path is None or udtx == o.before.get(path))),
    "a directory whose name is a file's in an earlier source": (
        "the file has been sent when the later source is looked at; rsync sorts all names first and takes the directory",
        lambda o, path, rsync, udtx: o.udtx_code == 23 and kinds_meet(o.case) and
        (path is None or below(path, kinds_meet(o.case)))),
    "no directory in the place of a file that is not to be overwritten": (
        "udtx leaves the file as it is; rsync --ignore-existing sets its time and fails below it",
        lambda o, path, rsync, udtx: "never" in o.case.udtx and (
            path is None or (o.before.get(path, ("dir",))[0] != "dir" and udtx == o.before[path] and
                             any(path in t and t[path].kind == "dir" for t in o.case.placed)))),
    "the journal of a transfer that was not complete": (
        "the same command continues; it goes with the run that delivers all",
        lambda o, path, rsync, udtx: path is not None and path.startswith(b".udtx-") and path.endswith(b".journal") and
        o.udtx_code != 0),
    "nothing is deleted after errors": (
        "rsync deletes unless a directory could not be read, udtx only if everything arrived",
        lambda o, path, rsync, udtx: o.case.delete and o.udtx_code == 23 and path is not None and rsync is None and
        udtx == o.before.get(path)),
    "an excluded name that is something else at the receiver": (
        "a pattern for directories leaves out the sender's directory, and what has its name at the receiver stays; rsync "
        "asks the pattern there, too, which does not mean a file, and deletes it",
        lambda o, path, rsync, udtx: o.case.delete and path is not None and rsync is None and udtx is not None and
        udtx == o.before.get(path) and udtx[0] != "dir" and any(path in t and t[path].kind == "dir" for t in o.case.placed)),
    "which of a file's names is looked at first": (
        "one of them has the size and time of the file and another content at the receiver: with -H the others follow it if "
        "it comes first. rsync goes by the order of names, udtx by that of the directory",
        lambda o, path, rsync, udtx: (o.case.hard or o.case.archive) and None not in (path, rsync, udtx) and
        udtx[0] == rsync[0] == "file" and
        udtx[2:] == rsync[2:] and len(udtx[1]) == len(rsync[1]) and len(udtx[-1]) > 1 and
        any(o.before.get(name, ())[:3] in (udtx[:3], rsync[:3]) for name in udtx[-1])),
    "a mount point at the receiver": (
        "nothing is deleted or replaced at a mount point, and a tree that holds one is left whole; rsync empties it first",
        lambda o, path, rsync, udtx: o.case.mounted and (
            path is None or (holds_mount(o.case, path) and udtx == o.before.get(path)))),
    "a listed name that begins with # or ;": (
        "with -0 a list has no comments, so that it can name every file; rsync skips such names",
        lambda o, path, rsync, udtx: o.case.file_list is not None and
        below(path, [n.rstrip(b"/.") for n in o.case.file_list if n[:1] in (b"#", b";")])),
}
