"""named_members.py SOURCE_ROOT: checks that libudtx and apps initialise four members of a struct or more by their names.

By position, a new member would shift the values behind it. clang-tidy checks that from version 18 on
(modernize-use-designated-initializers), and the oldest compilers that udtx supports do not. This check reads text, so
it sees `Type{...}`, `Type name{...}` and `return {...}`, but not braces in a call. Up to three values tell themselves
apart: {offset, length}.
"""
import pathlib
import re
import sys

LEAST = 4
QUIET = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])'|"(?:\\.|[^"\\])*\"""", re.S)
STRUCT = re.compile(r"\bstruct (?:UDTX_EXPORT )?(\w+)(?: final)?(?: : [\w:, ]+)? \{")
FUNCTION = re.compile(r"^(?: *)(?:\[\[nodiscard\]\] )?(?:static |inline |constexpr )*(?:\w+::)*(\w+) [\w:]+\([^;{}]*\)[\w ]*\{$", re.M)


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "{([") - (text[i] in "})]")
        if depth == 0:
            return i
    return len(text)


def parts(text):
    """The parts of a list, each with the lists in it."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "{([") - (c in "})]")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [part.strip() for part in out if part.strip()]


def members(name, body):
    """The number of data members; 0 if the struct is not an aggregate."""
    if re.search(rf"(?<![\w~:.>]){name}\(|\bvirtual\b|\bprivate:", body):
        return 0
    count, at, statement = 0, 0, ""
    while at < len(body):
        if body[at] in "{(":
            end = closing(body, at)
            statement += body[at] + body[end:end + 1]
            at = end
            is_function = "()" in statement or re.match(r"\s*(struct|class|enum|union)\b", statement)
            if statement.endswith("{}") and is_function:
                statement = ""
        elif body[at] == ";":
            skipped = re.match(r"\s*(static|using|friend|template|enum|struct|class)\b", statement)
            count += not skipped and "()" not in statement.split("=")[0] and len(statement.split()) > 1
            statement = ""
        else:
            statement += body[at]
        at += 1
    return count


def unnamed(texts):
    """Places in {path: text} that initialise a struct by position, with its name."""
    quiet = {path: QUIET.sub(lambda m: re.sub(r"[^\n]", "_", m.group()), text) for path, text in texts.items()}
    sizes = {}
    for text in quiet.values():
        for found in STRUCT.finditer(text):
            name, at = found.group(1), found.end() - 1
            sizes[name] = max(sizes.get(name, 0), members(name, text[at + 1:closing(text, at)]))
    for path, text in sorted(quiet.items()):
        returns = [(f.group(1), f.end() - 1, closing(text, f.end() - 1)) for f in FUNCTION.finditer(text)]
        for found in re.finditer(r"\b(?:(struct|class|enum|namespace) )?(?:UDTX_EXPORT )?(\w+)(?: \w+)? ?\{", text):
            kind, name, at = found.group(1), found.group(2), found.end() - 1
            if name == "return":
                name = next((type for type, begin, end in reversed(returns) if begin < at < end), "")
            values = parts(text[at + 1:closing(text, at)])
            if not kind and sizes.get(name, 0) >= LEAST <= len(values) and not values[0].startswith("."):
                yield f"{path}:{text.count(chr(10), 0, at) + 1}", name


def selftest():
    struct = "struct Four {\n    int a = 0;\n    int b{};\n    std::map<int, int> c;\n    int d = 0;\n    int sum() const { return a; }\n};\n"
    texts = {"a.hpp": struct, "b.cpp": "Four by_name{.a = 1, .b = 2, .c = {}, .d = 4};\nFour three{1, 2, {}};\n",
             "c.cpp": "auto it = Four{1, 2, {}, 4};\nFour f() {\n    return {1, 2, {}, 4};\n}\n"}
    found = list(unnamed(texts))
    assert found == [("c.cpp:1", "Four"), ("c.cpp:3", "Four")], found


selftest()
root = pathlib.Path(sys.argv[1])
found = list(unnamed({str(path.relative_to(root)): path.read_text()
                      for room in ("libudtx", "apps") for path in root.joinpath(room).rglob("*.[ch]pp")}))
for place, name in found:
    print(f"{place}: name the members of {name}")
sys.exit(1 if found else 0)
