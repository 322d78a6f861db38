"""The sandbox: whatever a function does in it, its caller gets a result or a reason, and everybody else goes on."""

import asyncio
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.sandbox.process import SandboxProcess
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from systems.tests.shared import sandboxed
from tests.conftest import ROOT
from tests.e2e.pages import find_blocks, read

SHORT = 0.3  # seconds of CPU time: enough for every function that ends


@pytest.fixture(scope="module")
def sandbox():
    sandbox = Sandbox(processes=2, memory_mib=64, seconds=20, modules=[sandboxed.__name__])
    yield sandbox
    sandbox.close()


def run(sandbox, function, *arguments, **options):
    return asyncio.run(sandbox.run(function, *arguments, **options))


def refusal(sandbox, function, *arguments, **options):
    with pytest.raises(SandboxError) as caught:
        run(sandbox, function, *arguments, **options)
    return caught.value.reason


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_result_has_the_type_that_the_function_declares(sandbox):
    assert run(sandbox, sandboxed.measure, "a", b"1234") == sandboxed.Page(title="a", size=4)


def test_a_process_is_used_again_and_is_not_this_one(sandbox):
    first, second = run(sandbox, sandboxed.tell_pid), run(sandbox, sandboxed.tell_pid)
    assert first == second != os.getpid()


def test_a_process_is_replaced_after_its_share_of_calls():
    sandbox = Sandbox(processes=2, calls_per_process=2)
    pids = [run(sandbox, sandboxed.tell_pid) for _ in range(3)]
    sandbox.close()
    assert pids[0] == pids[1] != pids[2]


def test_what_a_function_prints_is_no_answer(sandbox):
    assert run(sandbox, sandboxed.shout) == "heard"


def test_an_exception_is_told_by_name_and_text_and_the_process_goes_on(sandbox):
    pid = run(sandbox, sandboxed.tell_pid)
    with pytest.raises(SandboxError, match="ValueError: not allowed") as caught:
        run(sandbox, sandboxed.fail, "not allowed")
    assert caught.value.reason is Reason.ERROR
    assert run(sandbox, sandboxed.tell_pid) == pid


@pytest.mark.parametrize("function", [lambda: 1, print, sandboxed.has_no_types, sandboxed.Page])
def test_only_typed_functions_of_a_module_run(sandbox, function):
    with pytest.raises(TypeError):
        run(sandbox, function, *([1] if function is sandboxed.has_no_types else []))


def test_the_example_of_the_documentation_works(tmp_path, monkeypatch):
    (tmp_path / "myapp").mkdir()
    parser = "def count_links(page: bytes) -> int:\n    return page.count(b'href') or 1 // 0\n"
    (tmp_path / "myapp" / "page_parser.py").write_text(parser)
    monkeypatch.syspath_prepend(tmp_path)
    (example,) = (each for each in find_blocks(read("systems/shared.md"), "python") if "Sandbox(" in each)
    names = {}
    exec(example, names)
    described = [asyncio.run(names["describe_page"](page, "ann")) for page in (b"<a href=/>", b"")]
    names["sandbox"].close()
    assert described[0] == "1 links"
    assert re.fullmatch("unknown: ZeroDivisionError: .*by zero", described[1])


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("function", [sandboxed.spin, sandboxed.spin_without_the_interpreter, sandboxed.hang])
def test_a_function_that_does_not_end_is_killed(sandbox, function):
    assert refusal(sandbox, function, seconds=SHORT) is Reason.TIME
    assert run(sandbox, sandboxed.measure, "next", b"") == sandboxed.Page(title="next", size=0)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit the memory of a process")
def test_a_function_that_needs_too_much_memory_is_refused_and_its_process_replaced(sandbox):
    pid = run(sandbox, sandboxed.tell_pid)
    assert run(sandbox, sandboxed.allocate, 8) == 8 << 20
    assert refusal(sandbox, sandboxed.allocate, 100) is Reason.MEMORY
    assert run(sandbox, sandboxed.tell_pid) != pid


@pytest.mark.parametrize(
    "function",
    [
        sandboxed.crash,
        sandboxed.leave,
        sandboxed.return_too_much,
        sandboxed.lie,
        sandboxed.answer_with_nonsense,
    ],
)
def test_a_function_that_ends_its_process_or_answers_nonsense_is_a_crash(sandbox, function):
    assert refusal(sandbox, function, seconds=SHORT) in {Reason.CRASH, Reason.MEMORY}
    assert run(sandbox, sandboxed.measure, "next", b"") == sandboxed.Page(title="next", size=0)


def test_what_a_function_has_started_is_killed_with_it(sandbox, tmp_path):
    started = tmp_path / "child"
    os.mkfifo(started)
    reader = os.open(started, os.O_RDONLY | os.O_NONBLOCK)
    assert refusal(sandbox, sandboxed.leave_a_child, str(started), seconds=SHORT) is Reason.TIME
    child = int(os.read(reader, 100))
    os.close(reader)
    assert run(sandbox, sandboxed.measure, "next", b"") == sandboxed.Page(title="next", size=0)
    assert not is_alive(child)


def test_an_answer_that_was_written_ahead_is_not_taken_for_that_of_the_next_call(sandbox):
    assert refusal(sandbox, sandboxed.answer_for_the_next) is Reason.CRASH
    assert run(sandbox, sandboxed.measure, "next", b"") == sandboxed.Page(title="next", size=0)


def test_leaving_with_an_exit_status_is_an_error_like_others(sandbox):
    assert refusal(sandbox, sandboxed.exit_politely) is Reason.ERROR


# ── what a process has ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_process_has_no_secret_of_the_environment(sandbox, monkeypatch):
    monkeypatch.setenv("CHECKS_SECRET", "the secret of secrets")
    fresh = Sandbox(processes=2)
    found = run(fresh, sandboxed.read_environment)
    fresh.close()
    assert set(found) <= {"LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ"}


def test_a_process_has_no_descriptor_but_its_connection(tmp_path):
    with (tmp_path / "database").open("wb") as file:
        os.set_inheritable(file.fileno(), True)
        sandbox = Sandbox(processes=2)
        found = run(sandbox, sandboxed.list_sockets_and_files)
        sandbox.close()
    assert (
        len([name for name in found if "/dev/null" not in name and "/proc" not in name and "/dev/fd" not in name]) == 1
    )


def test_a_process_writes_no_files(sandbox, tmp_path):
    assert refusal(sandbox, sandboxed.write_file, str(tmp_path / "dropped")) is Reason.ERROR
    assert not (tmp_path / "dropped").exists() or (tmp_path / "dropped").read_bytes() == b""


# ── tenants ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_one_tenant_cannot_take_all_places_nor_stop_the_event_loop(sandbox):
    async def attack():
        spinning = [asyncio.create_task(sandbox.run(sandboxed.spin, tenant="mallory", seconds=1.0)) for _ in range(6)]
        await asyncio.sleep(0)
        ticks, pages = 0, []
        while len(pages) < 5:
            task = asyncio.create_task(sandbox.run(sandboxed.measure, "b", b"12", tenant="bob"))
            while not task.done():
                await asyncio.sleep(0.001)
                ticks += 1
            pages.append(task.result())
        still = sum(not task.done() for task in spinning)
        for task in spinning:
            task.cancel()
        await asyncio.gather(*spinning, return_exceptions=True)
        return pages, still, ticks

    pages, still, ticks = asyncio.run(attack())
    assert len(pages) == 5
    assert still >= 4, "bob's five pages waited for none of mallory's calls but the one that ran"
    assert ticks >= 5, "the event loop went on meanwhile"


def test_a_tenant_whose_calls_wait_is_told_that_it_is_busy():
    sandbox = Sandbox(processes=2, waiting=4, seconds=30)

    async def attack():
        calls = [asyncio.create_task(sandbox.run(sandboxed.hang, tenant="mallory")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(SandboxError) as caught:
            await calls[2]
        calls[0].cancel()
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return caught.value.reason

    assert asyncio.run(attack()) is Reason.BUSY
    sandbox.close()


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_closing_kills_everything_that_runs():
    sandbox = Sandbox(processes=2, seconds=100)
    pid = run(sandbox, sandboxed.tell_pid)

    async def close_meanwhile():
        hanging = asyncio.create_task(sandbox.run(sandboxed.hang, tenant="a"))
        while not sandbox._busy:  # noqa: ASYNC110 - a thread adds it
            await asyncio.sleep(0.001)
        await asyncio.to_thread(sandbox.close)
        with pytest.raises(SandboxError) as caught:
            await hanging
        return caught.value.reason

    assert asyncio.run(close_meanwhile()) is Reason.CLOSED
    assert not is_alive(pid)
    assert refusal(sandbox, sandboxed.tell_pid) is Reason.CLOSED


def test_a_cancelled_call_ends_its_process(sandbox):
    async def cancel():
        pid = await sandbox.run(sandboxed.tell_pid, tenant="a")
        hanging = asyncio.create_task(sandbox.run(sandboxed.hang, tenant="a"))
        while not any(process.pid == pid for process in sandbox._busy):  # noqa: ASYNC110 - a thread adds it
            await asyncio.sleep(0.001)
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        return pid

    pid = asyncio.run(cancel())
    assert not is_alive(pid)


def test_a_process_killed_as_its_answer_arrives_is_not_used_again(sandbox, monkeypatch):
    decode = SandboxProcess._decode

    def kill_and_decode(process, content, kind):
        if process.calls:
            process.kill()  # as a caller does who goes away in this moment
        return decode(process, content, kind)

    with monkeypatch.context() as patch:
        patch.setattr(SandboxProcess, "_decode", kill_and_decode)
        pid = run(sandbox, sandboxed.tell_pid)
    assert run(sandbox, sandboxed.tell_pid) != pid


def test_a_parent_that_is_killed_leaves_no_orphan():
    program = """
import asyncio, sys
from hashrange_systems.shared.sandbox.process import SandboxProcess
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from systems.tests.shared import sandboxed
async def main():
    sandbox = Sandbox(processes=2, seconds=100)
    pid = await sandbox.run(sandboxed.tell_pid)
    spinning = asyncio.create_task(sandbox.run(sandboxed.spin))
    while not any(process.calls == 2 for process in sandbox._busy):
        await asyncio.sleep(0.001)
    sys.stdout.write(f"{pid}\\n")
    sys.stdout.flush()
    await spinning
asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        if not is_alive(pid):
            return
        time.sleep(0.05)
    pytest.fail("the process survived its parent")


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not is_zombie(pid)


def is_zombie(pid):
    """Return whether it has ended, and only waits for the init process of this machine to take note."""
    try:
        with pathlib.Path(f"/proc/{pid}/stat").open() as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
