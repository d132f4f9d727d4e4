"""A browser without a window, by the W3C's WebDriver protocol: what a person sees, clicks and types."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from waiting import WAIT_S, until

DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
IS_THERE = DRIVER is not None and BROWSER is not None
WHY = "no browser is installed: apt-get install chromium chromium-driver"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER, ESCAPE, SHIFT = "\ue007", "\ue00c", "\ue008"


class Browser:
    """One window of a profile of its own, that reaches this machine alone."""

    def __init__(self, http: httpx2.Client, session: str) -> None:
        self._http = http
        self._session = session

    def open(self, url: str) -> None:
        self._post("url", url=url)

    def run(self, script: str, *args: object) -> Any:
        """What a function body returns in the page."""
        return self._post("execute/sync", script=script, args=list(args))

    def until(self, expression: str) -> None:
        """Waits until an expression holds in the page."""
        until(lambda: bool(self.run(f"return Boolean({expression})")))

    def texts(self, selector: str) -> list[str]:
        """What is seen of each element."""
        return list(self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector))

    def folded(self, selector: str) -> list[str]:
        """The text of each element, also of what is folded."""
        return list(self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector))

    def click(self, selector: str) -> None:
        self._post(f"element/{self._found(selector)}/click")

    def type(self, selector: str, text: str) -> None:
        self._post(f"element/{self._found(selector)}/value", text=text)

    def press(self, key: str) -> None:
        """A key, wherever the focus is."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._post("actions", actions=[{"type": "key", "id": "keyboard", "actions": keys}])

    def resize(self, width: int, height: int) -> None:
        """The page's own size, which a window on a desk cannot have when it is narrow."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._command("Emulation.setDeviceMetricsOverride", metrics)

    def prefers(self, scheme: str) -> None:
        """Light or dark."""
        self._command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def screenshot(self) -> bytes:
        """A PNG."""
        return base64.b64decode(self._http.get(f"/session/{self._session}/screenshot").json()["value"])

    def complaints(self) -> list[str]:
        """What the browser has written to its console since the last call: errors, and what the policy forbids."""
        return [entry["message"] for entry in self._post("se/log", type="browser")]

    def _command(self, name: str, parameters: dict[str, object]) -> None:
        self._post("goog/cdp/execute", cmd=name, params=parameters)

    def _found(self, selector: str) -> str:
        return str(self._post("element", using="css selector", value=selector)[ELEMENT])

    def _post(self, path: str, **body: object) -> Any:
        answer = self._http.post(f"/session/{self._session}/{path}", json=body).json()["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(f"{path}: {answer['message']}")
        return answer


@contextmanager
def browser(*names: str) -> Iterator[Browser]:
    """A browser of its own, for which these names are this machine's; it ends with the block."""
    assert DRIVER is not None
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    try:
        port = next(found[1] for line in driver.stdout if (found := re.search(r"on port (\d+)\.", line)))
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as http:
            began = http.post("/session", json={"capabilities": {"alwaysMatch": _capabilities(names)}}).json()["value"]
            assert "sessionId" in began, began
            try:
                yield Browser(http, began["sessionId"])
            finally:
                http.delete(f"/session/{began['sessionId']}")
    finally:
        driver.terminate()
        driver.wait(WAIT_S)
        driver.stdout.close()


def _capabilities(names: tuple[str, ...]) -> dict[str, object]:
    """Headless; every name and address but this machine's leads nowhere."""
    rules = ", ".join([*(f"MAP {name} 127.0.0.1" for name in names), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"])
    resolver = f"--host-resolver-rules={rules}"
    args = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en", resolver]
    if os.geteuid() == 0:
        args.append("--no-sandbox")  # which root cannot have
    return {
        "browserName": "chrome",
        "goog:chromeOptions": {"binary": BROWSER, "args": args},
        "goog:loggingPrefs": {"browser": "ALL"},
    }
