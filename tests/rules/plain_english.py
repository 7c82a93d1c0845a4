"""The rules of CONTRIBUTING.md (Style of texts) that a program can check. documents.py uses them for pages, comments.py for comments and messages."""
import re

LONGEST_SENTENCE = 40  # words
# Each with the usual word.
UNUSUAL = {
    r"mend(s|ed|ing)?": "fix", r"dial(s|led|ling)?": "connect", r"anew": "again, from the beginning",
    r"falls? silent": "fails, times out", r"begins? to": "starts to", r"as good as": "almost",
    r"and nothing else": "only", r"(is|are) not there": "does not exist, is missing", r"of old": "earlier",
    r"whoever": "the one who", r"likewise": "also", r"what (came|comes|stands|stood|goes|went|lies|lay)": "name the thing",
}
# Subject first, and positive: "Silence is none", "Of the writer's thread".
INVERTED = r"(?:^|(?<=[.;:!?] ))(Of (?!course\b)|(To|In|By|With|From|For) no\b|Nor\b|Nothing of\b)"
NO_SUCH = (r"(?<![Tt]here )\b(is|was|are|were) (none\b|no (?!longer|more|less|later|larger|smaller|slower|faster|earlier|"
           r"greater|older|newer|shorter|bigger|wider|worse|better)\w+)")
RULES = [*((re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.I), f"write '{usual}'") for pattern, usual in UNUSUAL.items()),
         (re.compile(INVERTED, re.M), "put the subject first"), (re.compile(NO_SUCH), "write 'is not a ...'")]
SENTENCE = re.compile(r".+?(?:[.!?](?=\s+[A-Z`(*])|\n\n|$)", re.S)


def findings(text, rules=RULES):
    """(offset, what, why) of each place in prose."""
    for pattern, why in rules:
        for match in pattern.finditer(text):
            yield match.start(), f"'{match[0].strip()}'", why


def long_sentences(text):
    for match in SENTENCE.finditer(text):
        words = len(re.sub(r"\([^)]*\)", " ", match[0]).split())
        if words > LONGEST_SENTENCE:
            yield match.start(), f"a sentence of {words} words", f"at most {LONGEST_SENTENCE}"


def self_test():
    wrong = ["Mended.", "we dial", "Silence is none.", "That is no file.", "They are no files.", "Of the caller's thread.",
             "It is not there"]
    assert all(list(findings(text)) for text in wrong), [text for text in wrong if not list(findings(text))]
    right = ["Of course.", "There is no file.", "That is no longer so.", "a dial-up line", "One thread of several."]
    assert not any(list(findings(text)) for text in right), [list(findings(text)) for text in right]
    assert list(long_sentences("a " * 41 + ".")) and not list(long_sentences("a " * 30 + ". " + "A " * 30))


self_test()
