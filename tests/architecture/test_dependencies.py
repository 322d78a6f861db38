"""What the project depends on: pinned with hashes, from no named host, and each with a written reason."""

import json
import re
import runpy
import subprocess
import tomllib
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest

import hashrange
from hashrange.client import optional_import

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {
    path.parent.name: tomllib.loads(path.read_text("utf-8"))
    for path in (ROOT / "pyproject.toml", ROOT / "systems" / "pyproject.toml")
}
PROJECTS = [content["project"] for content in DISTRIBUTIONS.values()]
DEVELOPMENT = DISTRIBUTIONS[ROOT.name]["dependency-groups"]["dev"]
PIP_LOCKS = sorted(ROOT.glob("requirements*.txt"))
NPM_LOCKS = sorted(
    path
    for folder in ("src", "systems", "tests", "bench")
    for path in (ROOT / folder).rglob("package-lock.json")
    if not any(part == "node_modules" or part.startswith(".") for part in path.relative_to(ROOT).parts)
)


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def read_pins(lock: Path) -> dict[str, str]:
    """The version that a pip lock gives to each package."""
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock.read_text("utf-8"), re.MULTILINE))


def names_of(requirements: list[str]) -> list[str]:
    names = [re.split(r"[^a-z0-9-]", requirement)[0] for requirement in requirements]
    return [name for name in names if name != "hashrange"]  # an extra that takes in another


def runtime_names() -> set[str]:
    """What users of either distribution install, with every extra."""
    lists = [each["dependencies"] for each in PROJECTS]
    lists += [extra for each in PROJECTS for extra in each["optional-dependencies"].values()]
    return {name for requirements in lists for name in names_of(requirements)}


def test_the_lock_files_are_where_these_rules_look():
    assert [path.name for path in PIP_LOCKS] == ["requirements-clients.txt", "requirements-dev.txt", "requirements.txt"]
    assert NPM_LOCKS


@pytest.mark.parametrize("lock", PIP_LOCKS + NPM_LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_lock_file_names_a_host(lock):
    naming = [
        line
        for line in lock.read_text("utf-8").splitlines()
        if "://" in line or "index-url" in line or "find-links" in line
    ]
    assert naming == []


@pytest.mark.parametrize("lock", PIP_LOCKS, ids=lambda path: path.name)
def test_every_pinned_package_has_a_hash(lock):
    entries = re.split(r"\n(?=\S)", lock.read_text("utf-8").strip())
    assert [entry.split()[0] for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("lock", NPM_LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_locked_npm_package_has_a_hash(lock):
    packages = json.loads(lock.read_text("utf-8"))["packages"]
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []


def test_the_tests_run_with_the_versions_that_users_get():
    runtime, development = read_pins(ROOT / "requirements.txt"), read_pins(ROOT / "requirements-dev.txt")
    assert {name: development.get(name) for name in runtime} == runtime


def test_every_declared_dependency_is_locked():
    assert runtime_names() <= set(read_pins(ROOT / "requirements.txt"))
    assert set(names_of(DEVELOPMENT)) <= set(read_pins(ROOT / "requirements-dev.txt"))


def test_a_missing_library_is_reported_with_the_extra_that_installs_it():
    extras = DISTRIBUTIONS[ROOT.name]["project"]["optional-dependencies"]
    installed_by = {name: extra for extra, requirements in extras.items() for name in names_of(requirements)}
    installed_by["botocore"] = "boto3"  # which installs it too; who needs it alone names the extra aws
    del installed_by["uvloop"]  # the server works without
    assert installed_by == optional_import.EXTRAS


def test_every_extra_is_tried_in_an_empty_environment():
    tried = (ROOT / "scripts" / "try_extras.py").read_text("utf-8")
    named = {
        extra for found in re.findall(r'"hashrange(?:-systems)?\[([\w,]+)\]"', tried) for extra in found.split(",")
    }
    assert named == {extra for each in PROJECTS for extra in each["optional-dependencies"]}


def test_the_extras_that_are_tried_are_those_of_the_built_wheels(tmp_path):
    for wheel in ("hashrange-0.4.0.dev0-py3-none-any.whl", "hashrange_systems-0.5.0-py3-none-any.whl"):
        (tmp_path / wheel).touch()
    pin = runpy.run_path(str(ROOT / "scripts" / "try_extras.py"))["pin"]
    assert pin("hashrange[cli]", tmp_path) == "hashrange[cli]==0.4.0.dev0"
    assert pin("hashrange-systems", tmp_path) == "hashrange-systems==0.5.0"


def test_every_runtime_dependency_has_a_decision_record():
    records = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs" / "decisions").glob("*.md"))
    stood_in_for = {"boto3", "botocore"}
    assert sorted(name for name in runtime_names() - stood_in_for if f"`{name}`" not in records) == []


def test_both_distributions_have_the_version_that_the_package_states():
    assert {metadata.version(each["name"]) for each in PROJECTS} == {hashrange.__version__}


def test_the_systems_require_the_hashrange_of_their_own_version():
    [required] = [each for each in PROJECTS[1]["dependencies"] if each.startswith("hashrange[")]
    assert required.partition(">=")[2] == f"{hashrange.__version__.removesuffix('.dev0')}.dev0"


def test_every_claimed_python_is_tested_by_make_and_by_the_workflow():
    claim = "Programming Language :: Python :: 3."
    claimed = [[name[len(claim) - 2 :] for name in each["classifiers"] if name.startswith(claim)] for each in PROJECTS]
    made = re.findall(r"python(3\.\d+)", re.search(r"^PYTHONS .*$", read("Makefile"), re.MULTILINE)[0])
    matrix = re.search(r"python: (\[.*\])", read(".github/workflows/check.yml"))
    assert matrix
    assert claimed == [made, made]
    assert json.loads(matrix[1]) == made
    assert {each["requires-python"] for each in PROJECTS} == {f">={made[0]}"}


def split_version(version):
    return [int(part) for part in version.split(".")]


def test_the_changelog_begins_with_that_version_and_every_version_has_a_date():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    versions = headings[1:] if headings[0] == "[Unreleased]" else headings
    assert [line for line in versions if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line)] == []
    released = versions[0].partition(" - ")[0].strip("[]")
    if hashrange.__version__.endswith(".dev0"):  # what comes after the newest release
        assert headings[0] == "[Unreleased]"
        assert split_version(hashrange.__version__.removesuffix(".dev0")) > split_version(released)
    else:
        assert hashrange.__version__ == released


def test_every_version_of_the_changelog_links_to_its_tag():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    names = re.findall(r"^## \[(.*?)\]", text, re.MULTILINE)
    repository = PROJECTS[0]["urls"]["Homepage"]
    links = dict(re.findall(rf"^\[(.*?)\]: {re.escape(repository)}/(.*)$", text, re.MULTILINE))
    tags = ["main" if name == "Unreleased" else f"v{name}" for name in names]
    expected = [f"compare/{before}...{tag}" for tag, before in pairwise(tags)] + [f"tree/{tags[-1]}"]
    assert links == dict(zip(names, expected, strict=True))


def test_every_tag_is_a_version_of_the_changelog_and_marks_a_commit_that_states_it():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for tag in ask_git("tag", "--list", "v*").split():
        assert f"## [{tag[1:]}] - " in text
        assert f'__version__ = "{tag[1:]}"' in ask_git("show", f"{tag}:src/hashrange/__init__.py")


def ask_git(*arguments):
    """Return what git prints; nothing where the tests run outside a clone."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project["name"])
def test_no_distribution_claims_an_operating_system_that_the_workflow_does_not_test(project):
    claimed = {line.split(" :: ")[-1] for line in project["classifiers"] if line.startswith("Operating System")}
    tested = set(re.findall(r"(ubuntu|macos|windows)-latest", read(".github/workflows/check.yml")))
    names = {"ubuntu": "Linux", "macos": "MacOS", "windows": "Windows"}
    assert claimed == {names[system] for system in tested}
