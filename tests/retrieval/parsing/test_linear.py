"""Law: reading and cutting take time linear in the text, whatever it says.

The expressions that do it hold up the whole process meanwhile. One that looks at a text again from each of its
characters takes minutes or hours for these.
"""

import subprocess
import sys

import pytest

from hocket_retrieval.text.chunking import MAX_WORDS
from waiting import WAIT_S

CHARACTERS = 1 << 18
PROGRAM = """
import sys
from pathlib import Path
from hocket_retrieval.text.chunking import chunk
from hocket_retrieval.parsing.readers import read
name, before, repeated, after, characters, words = sys.argv[1:]
text = before + repeated * (int(characters) // len(repeated)) + after
assert chunk(read(Path(name), text.encode()).text, int(words))
"""


@pytest.mark.parametrize(
    ("name", "before", "repeated", "after"),
    [
        ("blank lines.md", "text", "\n", "end"),
        ("blanks.md", "text\n", " ", "end"),
        ("fences.md", "text\n", "```", "end"),
        ("brackets.md", "", "[", "end"),
        ("addresses.md", "", "[a](", "end"),
        ("nested addresses.md", "[a](", "(b)", " end"),
        ("link titles.md", "", '[a](b "', "end"),
        ("spaced heading.md", "# a", " ", "end"),
        ("long heading.md", "# a", "#", "end"),
        ("strong.md", "", "**a ", "end"),
        ("code.md", "", "`a ", "end"),
        ("ticks.md", "text ", "`", "end"),
        ("emphasis.md", "", "*a ", "end"),
        ("comments.md", "", "<!--", "end"),
        ("one comment.md", "<!--", "a -- ", "end"),
        ("tags.md", "", "<a ", "end"),
        ("angles.md", "", "<a:b@", "end"),
        ("quotes.md", "", "\n  ", "> end"),
        ("underlined.md", "", "a b\n", "---"),
        ("definitions.md", "[a]: b\n", "[c][", "end"),
        ("struck.md", "", " ~~a", "end"),
        ("drawers.org", "text\n", ":LOGBOOK:\n", "end"),
        ("comments.tex", "text\n", "\\%%", "end"),
        ("code.tex", "text\n", "\\begin{verbatim}", "end"),
        ("cues.srt", "1\n00:00:01,000 --> 00:00:02,000\n", "a  ", "end"),
        ("times.vtt", "00:01.000 --> 00:02.000\na\n", "\n00:01.000 ", "end"),
        ("parameters.vcf", "BEGIN:VCARD\nFN:a\nEND:VCARD\n", 'A;"', "end"),
        ("one line.adoc", "text\n", "= ", "end"),
        ("quoted.csv", "a,b\n", '"', "end"),
        ("addresses.rst", "text\n", "`a <", "end"),
        pytest.param("paragraphs.html", "", "<p>Paragraph</p>", "end", marks=pytest.mark.slow),
        ("points.txt", "", ".", "x"),
        ("marks.txt", "", "?!", "x"),
        ("short lines.txt", "", "\n \nx", ""),
    ],
)
def test_hostile_texts_take_no_longer_than_others(name, before, repeated, after):
    """What an expression cannot match is read and cut in a moment, 256 KiB of it."""
    arguments = [name, before, repeated, after, str(CHARACTERS), str(MAX_WORDS)]
    assert subprocess.call([sys.executable, "-c", PROGRAM, *arguments], timeout=WAIT_S) == 0


@pytest.mark.parametrize("white", [" ", "\n"])
def test_white_space_at_sentence_borders_takes_no_longer(white):
    """The same for the cutting alone: a text that was not read from a file may hold any run of white space."""
    program = "import sys; from hocket_retrieval.text.chunking import chunk; white, times = sys.argv[1:]; "
    program += "assert len(chunk('One. ' + white * int(times) + 'two', 8)) == 1"
    times = CHARACTERS // len(white)
    assert subprocess.call([sys.executable, "-c", program, white, str(times)], timeout=WAIT_S) == 0
