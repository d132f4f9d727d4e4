"""The page in a browser: when it is ready, when an answer is over, and how it is opened and asked."""

from __future__ import annotations

from browser import ENTER, Browser
from serving import USER

QUESTION = USER[0]["content"]
IDLE = "document.querySelector('hocket-composer')?.busy === false"
READY = f"{IDLE} && document.querySelectorAll('#model option').length"
OVER = f"{IDLE} && document.querySelector('hocket-turn:last-child .left')"
TEXT = "return document.querySelector('hocket-turn:last-child .text').textContent"


def opened(window: Browser, url: str) -> None:
    """Without a history, and without a key."""
    window.resize(1280, 800)
    window.open(url)
    window.run("localStorage.clear(); sessionStorage.clear()")
    window.open(url)
    window.until(READY)


def ask(page: Browser, question: str = QUESTION) -> str:
    """The text of the answer, once it is there."""
    number = len(page.texts("hocket-turn"))
    page.type("#question", question + ENTER)
    page.until(f"document.querySelectorAll('hocket-turn').length > {number} && {OVER}")
    return str(page.run(TEXT))
