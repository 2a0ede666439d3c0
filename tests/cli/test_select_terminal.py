"""The command line from outside: help, terminals, pipes and Ctrl-C."""

import os
import pty
import re
import select as io_select
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("cyclopts")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")

from safdr.cli.help import COMMON

COMMAND = [sys.executable, "-c", "from safdr.cli import main; main()", "select"]
QUICK = ["--k-max", "3"]
# Hours of work.
SLOW = ["--stability", "1000000"]


def test_help_loads_nothing_heavy_and_shows_examples():
    script = (
        "import sys\n"
        "from safdr.cli import main\n"
        "main(['select', '--help'])\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'joblib', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "safdr select loans.parquet -t late -k 5" in done.stdout
    assert "Exit codes: 0 done" in done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 84, "two screens"
    assert {*re.findall(r"^│ (?:-. )?(--[\w-]+)", done.stdout, re.M)} == COMMON


def test_help_all_shows_every_option_whatever_else_is_asked_for(safdr):
    from safdr.cli.select import app

    text = safdr("select", "no such file.csv", "--help-all").out
    options = {name for each in app.assemble_argument_collection() for name in each.names}
    shown = set(re.findall(r"(?<!\S)--?[\w-]+", text))
    assert {name for name in options if name.startswith("-")} <= shown
    assert set(options) >= COMMON
    assert "Usage: safdr select" in text


def test_a_pipe_gets_the_answer_without_colour_and_no_progress(safdr):
    done = safdr("select", *QUICK)
    assert done.err == ""
    assert "\x1b" not in done.out
    assert "of 30 features tell diagnosis = malignant from benign" in " ".join(done.out.split())


def test_a_reader_that_has_seen_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as closed:
        done = subprocess.run(
            [*COMMAND, *QUICK], stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "")


def parts_of(reader):
    """What comes from a terminal, until the other end is closed."""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # how Linux tells that it is
            return
        if not part:
            return
        yield part


class Terminal:
    """A command in a process of its own, on a terminal."""

    def __init__(self, *arguments):
        self.reader, writer = pty.openpty()
        environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdout=writer, stderr=writer, env=environment
        )
        os.close(writer)
        self.seen = ""

    def read_until(self, pattern, timeout=120):
        """Read until a pattern shows, or the end."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            ready, _, _ = io_select.select([self.reader], [], [], 0.1)
            if ready and not self._read():
                return
            if re.search(pattern, self.seen):
                return
        raise AssertionError(f"{pattern!r} did not show: {self.seen}")

    def _read(self):
        part = next(parts_of(self.reader), b"")
        self.seen += part.decode(errors="replace")
        return bool(part)

    def end(self):
        """Read the rest, and give the exit code."""
        self.read_until(r"(?!)")
        os.close(self.reader)
        return self.process.wait(timeout=60)


@pytest.fixture
def shown(ended, monkeypatch):
    """Run the command in this process, on a terminal, and give what that shows.

    A signal is sent, if any, as soon as the search shows.
    """

    def run(*arguments, columns=80, code=0, number=None):
        reader, writer = pty.openpty()
        seen, waiting = [], [number] if number else []

        def listen():
            for part in parts_of(reader):
                seen.append(part)
                if waiting and b"Searching" in b"".join(seen):
                    os.kill(os.getpid(), waiting.pop())

        listener = threading.Thread(target=listen)
        listener.start()
        with monkeypatch.context() as patch, os.fdopen(writer, "w") as terminal:
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("TERM", "xterm-256color")
            patch.setattr(sys, "stdout", terminal)
            patch.setattr(sys, "stderr", terminal)
            assert ended("select", *arguments) == code
        listener.join()
        os.close(reader)
        return b"".join(seen).decode(errors="replace")

    return run


def test_a_terminal_gets_progress_with_the_time_left_and_colour(shown):
    pytest.importorskip("sklearn.callback")
    seen = shown(*QUICK)
    assert "Searching" in seen
    assert "/16" in seen  # five splits of three sizes, and all rows
    assert "left" in seen
    answer = seen[seen.rindex("features") :]
    assert "\x1b[" in answer
    assert "Searching" not in answer


def test_a_terminal_gets_the_speed_of_a_pass_and_the_time_left_in_it(shown, write, columns):
    seen = shown(write(columns), "-t", "late", "--stream", "--sample-rows", 100, *QUICK)
    assert re.search(r"Pass 1\d? ", seen)
    assert re.search(r"[\d,]+ rows/s", seen)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_answer_fits_the_terminal(shown, columns):
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(*QUICK, columns=columns))
    answer = plain[plain.rindex("Coefficient") :]
    assert max(map(len, answer.splitlines())) <= columns


def test_quiet_is_quiet_on_a_terminal_too(shown):
    assert shown(*QUICK, "--quiet") == ""


def test_a_process_that_is_stopped_ends_with_its_threads(tmp_path):
    terminal = Terminal(*SLOW, "--jobs", "2", "--out", str(tmp_path / "result.json"))
    terminal.read_until("Searching")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 143
    assert "Stopped. No file is half written." in terminal.seen
    assert "Traceback" not in terminal.seen
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def interruptible():
    """Ctrl-C may be ignored where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_ends_cleanly_and_leaves_no_file(shown, tmp_path, jobs, number, code):
    wishes = (*SLOW, "--jobs", jobs, "--out", tmp_path / "result.json")
    seen = shown(*wishes, number=number, code=code)
    assert "Stopped. No file is half written." in seen
    assert "Traceback" not in seen
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_nobody_reads_can_be_given_up(safdr, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    other = tmp_path / "page.html"

    def give_up():
        while not other.exists():  # files come before pipes
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=give_up, daemon=True).start()
    done = safdr("select", *QUICK, "--out", tmp_path / "pipe", "--report", other, code=143)
    assert done.err == "safdr: Stopped. No file is half written.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "pipe"]


def test_a_program_that_runs_the_command_keeps_its_own_way_to_end(monkeypatch):
    from safdr.cli import main

    def mine(*_):
        """What another program does on SIGTERM."""

    seen = []
    monkeypatch.setattr("safdr.cli.root.app", lambda *_, **__: seen.append(now()))

    def now():
        return signal.getsignal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, mine)
    try:
        main(["select"])
        assert (seen, now()) == ([mine], mine)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        main(["select"])
        assert now() is signal.SIG_DFL
        assert seen[1] is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
