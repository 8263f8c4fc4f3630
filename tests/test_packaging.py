"""The wheel holds everything, the layers are whole, and importing is cheap where it must be."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = {name: ROOT / folder for name, folder in PROJECT["tool"]["setuptools"]["package-dir"].items()}


def modules() -> dict[str, Path]:
    found = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            dotted = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
            found[dotted.removesuffix(".__init__")] = path
    return found


def test_every_package_is_listed() -> None:
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert packages == set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_folder_with_modules_is_a_package() -> None:
    assert [path for path in modules().values() if not (path.parent / "__init__.py").exists()] == []


def test_every_library_module_is_under_contract() -> None:
    contract = PROJECT["tool"]["importlinter"]["contracts"][1]
    listed = {*contract["source_modules"], *contract["forbidden_modules"], "rollmill.deployments"}
    top = {".".join(name.split(".")[:2]) for name in modules() if name != "rollmill"}
    assert top - listed == set()


def test_every_dependency_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    dependencies = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"]
    silent = [d for d in dependencies if f'"{d}",' not in text or "#" not in text.split(f'"{d}",')[1].split("\n")[0]]
    assert silent == []


def test_constraints_are_pins_without_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert len(lines) > 50
    assert [line for line in lines if line.count("==") != 1 or "/" in line or "@" in line] == []


@pytest.mark.parametrize(
    ("module", "kept_out"),
    [
        ("rollmill.cli", {"prefect", "great_expectations", "polars", "pyarrow", "pydantic"}),
        ("rollmill.flows.launch", {"prefect", "great_expectations"}),
        ("rollmill.expectations.suites", {"prefect", "great_expectations"}),
    ],
)
def test_importing_stays_light(module: str, kept_out: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert kept_out & set(done.stdout.split()) == set()


@pytest.mark.flow
def test_the_wheel_works_from_an_empty_folder(tmp_path: Path) -> None:
    built = tmp_path / "dist"
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(built),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    wheel = next(built.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.replace(".", "/") for name in modules()} <= {
        name.removesuffix(".py").removesuffix("/__init__") for name in names
    }
    assert "rollmill/py.typed" in names
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    empty = tmp_path / "empty"
    empty.mkdir()
    code = (
        f"import sys; sys.path = [p for p in sys.path if 'editable' not in p]; sys.path.insert(0, {str(site)!r});"
        "sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)];"
        f"import rollmill; assert rollmill.__file__.startswith({str(site)!r}), rollmill.__file__;"
        "from rollmill.cli import main;"
        "sys.argv = ['rollmill', 'demo', 'here', '--scale', 'act_prm=0.001,prompt_response=0.001']; main()"
    )
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], cwd=empty, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "put aside + 0 dropped" in done.stdout
