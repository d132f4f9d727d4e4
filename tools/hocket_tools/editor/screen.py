"""The editor of `hocket compose`: a text, what may follow it in grey, and a line that says where that comes from."""

from __future__ import annotations

import threading
from pathlib import Path

import typer
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.styles import Style

from hocket_bus.errors import BadRequest, HocketError, Unavailable
from hocket_client import Client, Composer, Remembered
from hocket_client.composer import News
from hocket_tools.text_file import TextFile

from .ghost import Ghost
from .screenshot import lines, on_paper, write
from .status import Status

PATIENCE_S = 30.0  # for the first suggestion
REST_S = 3.0  # in which nothing comes: the cloud's memory is there, if it can be had
ESCAPE_S = 0.1  # for what follows Esc where it begins the name of another key
STYLE = Style.from_dict({"ghost": "ansibrightblack", "status": "reverse"})


def edit(client: Client, file: Path | None, *, tokens: int, memory: bool) -> None:
    """Run the editor until the writer leaves. Raises BadRequest for a file that cannot be read."""
    letter = TextFile(file) if file is not None else None
    with client.compose(letter.text if letter else "", tokens=tokens, memory=memory) as composer:
        Screen(composer, letter, asks_cloud=memory).run()


def draw(client: Client, file: Path | None, svg: Path, *, tokens: int, memory: bool) -> None:
    """Write a picture of the screen as it is when nobody types. Raises BadRequest, Unavailable."""
    letter = TextFile(file) if file is not None else None
    with client.compose(letter.text if letter else "", tokens=tokens, memory=memory) as composer, on_paper():
        Screen(composer, letter, asks_cloud=memory).draw(svg)


class Screen:
    """The screen of the editor, with one text."""

    def __init__(self, composer: Composer, file: TextFile | None, *, asks_cloud: bool) -> None:
        text = composer.text
        self._composer = composer
        self._file = file
        self._saved = text
        self._dismissed = -1  # the version whose suggestion is not wanted
        self._left = False
        self._warned = text  # the unsaved text that leaving was refused for
        self._status = Status(asks_cloud=asks_cloud)
        self._buffer = Buffer(
            document=Document(text),
            multiline=True,
            on_text_changed=self._on_change,
            on_cursor_position_changed=self._on_change,
        )
        self._app: Application[None] = Application(
            layout=Layout(self._windows()), key_bindings=self._keys(), style=STYLE, full_screen=True
        )
        self._app.ttimeoutlen = self._app.timeoutlen = ESCAPE_S

    def draw(self, svg: Path) -> None:
        """Draw the screen as it is when nobody types, once no more events come. Raises Unavailable."""
        if self._composer.wait(PATIENCE_S) is None:
            raise Unavailable("no suggestion has come", "see: hocket status")
        for event in self._composer.events(REST_S):
            self._on_event(event)
        write(svg, lines(self._app), "hocket compose")

    def run(self) -> None:
        """Run until the writer leaves; then print a text for which no file was named."""
        threading.Thread(target=self._listen, daemon=True).start()
        self._app.run()
        self._left = True
        if self._file is None and self._buffer.text:
            typer.echo(self._buffer.text)

    def _windows(self) -> HSplit:
        ghost = Ghost(self._suggestion)
        return HSplit(
            [
                Window(BufferControl(self._buffer, input_processors=[ghost]), wrap_lines=True),
                Window(FormattedTextControl(self._status_line), height=1, style="class:status"),
            ]
        )

    def _suggestion(self) -> str:
        """Return the grey text: the suggestion for exactly the text and cursor on the screen, else nothing."""
        known = self._composer.suggestion
        stands = (self._composer.text, self._composer.cursor) == (self._buffer.text, self._buffer.cursor_position)
        return known.text if known is not None and stands and known.version != self._dismissed else ""

    def _status_line(self) -> StyleAndTextTuples:
        changed = " *" if self._buffer.text != self._saved else ""
        name = self._file.path if self._file is not None else "new text"
        return [("", self._status.line(self._composer.suggestion, f"{name}{changed}"))]

    def _on_change(self, _: Buffer) -> None:
        composer, buffer = self._composer, self._buffer
        if (composer.text, composer.cursor) != (buffer.text, buffer.cursor_position):
            try:
                composer.update(buffer.text, buffer.cursor_position)
            except BadRequest as error:
                self._status.show(str(error))

    def _listen(self) -> None:
        """Draw whatever comes, on a thread of its own. An error ends a suggestion, not the writing."""
        while not self._left:
            try:
                for event in self._composer.events():
                    self._on_event(event)
                    self._app.invalidate()
            except HocketError as error:
                self._status.show(str(error))
                self._app.invalidate()

    def _on_event(self, event: News) -> None:
        if isinstance(event, Remembered):
            self._status.drop_message()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("tab")
        def _(_: KeyPressEvent) -> None:
            self._accept(None)

        @keys.add("c-right")
        @keys.add("escape", "f")
        def _(_: KeyPressEvent) -> None:
            self._accept(1)

        @keys.add("escape")
        def _(_: KeyPressEvent) -> None:
            self._dismissed = self._composer.version

        @keys.add("c-s")
        def _(_: KeyPressEvent) -> None:
            self._save()

        @keys.add("c-q")
        @keys.add("c-c")
        def _(_: KeyPressEvent) -> None:
            self._leave()

        return keys

    def _accept(self, words: int | None) -> None:
        if not self._suggestion():
            return
        taken = self._composer.accept(words)
        self._buffer.insert_text(taken)

    def _leave(self) -> None:
        """Leave the editor, after a warning where something is not saved."""
        text = self._buffer.text
        if self._file is None or text in (self._saved, self._warned):
            self._app.exit()
        else:
            self._warned = text
            self._status.show("not saved: Ctrl-S saves, Ctrl-Q again leaves")

    def _save(self) -> None:
        if self._file is None:
            self._status.show("no file was named: the text is printed when you leave")
            return
        try:
            self._file.save(self._buffer.text)
        except OSError as error:
            self._status.show(f"not saved: {error.strerror}; the file is as it was, the text is still here")
        else:
            self._saved = self._buffer.text
            self._status.show(f"saved {self._file.path}")
