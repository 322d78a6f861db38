"""What the type checkers accept and refuse: every correct declaration and use, and none of the planted mistakes."""

import re

import pytest

from tests.typing.conftest import CORRECT, ECHOES, MISTAKEN, ROOT

MARK = re.compile(r" *(.+)  # E ([a-z-]+): .+")


def find_marked(file):
    """The planted mistakes of a file: the text and what mypy calls it, by line."""
    lines = file.read_text("utf-8").splitlines()
    found = {at: MARK.fullmatch(line) for at, line in enumerate(lines, 1) if "  # E" in line}
    return {at: (match[1], match[2]) for at, match in found.items()}


def name(file):
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", CORRECT, ids=name)
def test_correct_declarations_and_uses_are_accepted(refusals, file):
    assert dict(refusals[file]) == {}


@pytest.mark.parametrize("file", MISTAKEN, ids=name)
def test_each_planted_mistake_is_refused(refusals, file):
    found = refusals[file]
    reported = {at for at in found if any(not any(echo in text for echo in ECHOES) for text in found[at])}
    assert [code for at, (code, _) in find_marked(file).items() if at not in reported] == []


@pytest.mark.parametrize("file", MISTAKEN, ids=name)
def test_nothing_but_the_planted_mistakes_is_refused(refusals, file):
    marked = find_marked(file)
    assert {at: texts for at, texts in refusals[file].items() if at not in marked} == {}


@pytest.mark.parametrize("file", MISTAKEN, ids=name)
def test_each_planted_mistake_is_refused_for_the_reason_meant(mypy_refusals, file):
    marked = find_marked(file)
    said = {at: {re.search(r"\[([a-z-]+)\]$", text)[1] for text in mypy_refusals[file][at]} for at in marked}
    assert {marked[at]: codes for at, codes in said.items() if codes != {marked[at][1]}} == {}


def test_a_mistake_is_planted_with_every_word_of_the_vocabulary():
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/reference/vocabulary.md").read_text("utf-8"), re.MULTILINE)
    words = {word for heading in headings for word in re.findall(r"`(\w+)`", heading)}
    planted = [line for file in MISTAKEN for line in file.read_text("utf-8").splitlines() if "  # E" in line]
    assert sorted(words - {word for line in planted for word in re.findall(r"\w+", line)}) == []


def test_no_mistake_is_planted_twice_and_there_are_many():
    planted = [code for file in MISTAKEN for code, _ in find_marked(file).values()]
    assert len(set(planted)) == len(planted) >= 150
