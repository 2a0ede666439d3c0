"""The page in a notebook: a frame that grows with it, also in the notebook exported to HTML."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from pathlib import Path

# Where no script may run, the frame keeps this height, and scrolls.
HEIGHT = 720

# What the frame does when its page is there: listen for its height, and ask for it.
GROW = (
    "const frame = this; window.addEventListener('message', event => {"
    " if (event.source === frame.contentWindow && event.data.safdrReportHeight > 0)"
    " frame.style.height = event.data.safdrReportHeight + 'px'; });"
    " frame.contentWindow.postMessage('safdr', '*')"
)


@cache
def frame_program() -> str:
    """The script within the frame."""
    return (Path(__file__).parent / "scripts" / "frame.js").read_text("utf-8")


@cache
def policy_hash(program: str) -> str:
    """What a content policy calls a script."""
    digest = hashlib.sha256(program.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def in_frame(page: str) -> str:
    """Put a page that has the script into a frame, where styles don't mix; it reaches nothing."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" title="Feature selection report" '
        f'onload="{escape(GROW)}" style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
    )
