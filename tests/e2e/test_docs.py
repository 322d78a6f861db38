"""What the documentation says is so: generated pages are up to date, code in it runs, commands it names exist."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from hashrange.cli.app import app
from hashrange.cli.system import load_commands

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted(path for path in (README, *(ROOT / "docs").rglob("*.md")) if path.exists())
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def blocks(path, *languages):
    """The fenced blocks of a page in those languages."""
    return [text for language, text in BLOCK.findall(path.read_text("utf-8")) if language in languages]


def commands(path):
    """The command lines that a page shows after a prompt, or as a shell script."""
    shown = [line[2:] for text in blocks(path, "console") for line in join(text) if line.startswith("$ ")]
    scripts = [line for text in blocks(path, "sh", "shell", "bash") for line in join(text)]
    return [line.partition("#")[0].strip() for line in shown + scripts if line.partition("#")[0].strip()]


def join(text):
    """Lines, those that go on in one."""
    return re.sub(r"\\\n\s*", " ", text).splitlines()


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=500, check=False, **options)


def test_the_reference_of_operations_is_up_to_date():
    page = ROOT / "docs" / "reference" / "operations.md"
    outcome = run(sys.executable, "-m", "hashrange.cli", "docs", "--check", str(page))
    assert outcome.returncode == 0, outcome.stderr


def test_a_page_that_is_out_of_date_is_told(tmp_path):
    page = tmp_path / "operations.md"
    command = (sys.executable, "-m", "hashrange.cli", "docs")
    missing = run(*command, "--check", str(page))
    assert missing.returncode == 1
    assert "hashrange docs --write" in missing.stderr
    assert run(*command, "--write", str(page)).returncode == 0
    assert run(*command, "--check", str(page)).returncode == 0
    assert page.read_text("utf-8") == run(*command).stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_the_documentation_is_python(page):
    for text in blocks(page, "python"):
        ast.parse(text)


def test_programs_in_the_readme_run(tmp_path):
    programs = [text for text in blocks(README, "python") if "def test_" not in text]
    assert programs
    for program in programs:
        outcome = run(sys.executable, "-W", "error", "-c", program, cwd=tmp_path)
        assert outcome.returncode == 0, outcome.stderr
        promised = re.findall(r"print\(.*\)\s+# (.*)", program)
        assert outcome.stdout.split("\n")[: len(promised)] == promised


def test_tests_in_the_readme_pass(pytester):
    texts = [text for text in blocks(README, "python") if "def test_" in text]
    assert texts
    for text in texts:
        pytester.makepyfile("import hashrange\n" + text)
        outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
        outcome.assert_outcomes(passed=text.count("def test_"))


def test_commands_in_the_documentation_exist():
    named = [shlex.split(command) for page in PAGES for command in commands(page)]
    ours = [words[1:] for words in named if words[0] == "hashrange"]
    assert ours
    for words in ours:
        options = {text for option in find_command(words).params for text in option.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options | {"--help"}


def find_command(words):
    """The command that words call, a system's own included; without one it is hashrange itself."""
    found = typer.main.get_command(app)
    for word in words:
        if not hasattr(found, "commands") or word.startswith("-"):
            break
        found = found.commands[word] if word in found.commands else load_commands(word)
    return found


def test_make_targets_in_the_documentation_exist():
    named = {words[1] for page in PAGES for command in commands(page) if (words := command.split())[0] == "make"}
    assert named >= {"up", "test"}
    for target in named:
        outcome = run(shutil.which("make"), "--dry-run", "--question", target, cwd=ROOT)
        assert "No rule to make target" not in outcome.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_a_page_lead_to_a_heading(page):
    text = page.read_text("utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    headings = {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}
    for anchor in re.findall(r"\]\(#([^)]*)\)", text):
        assert anchor in headings
