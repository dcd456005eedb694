"""Try the wheels of a folder: what is in them, and the demo in an empty environment without a compiler.

python -m tests.support.try_wheel dist/*.whl

torch and the dependencies are those of this interpreter, by a line in a `.pth` file; torchwhy itself comes from the
wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
UNWANTED = ("tests/", "benchmarks/", "examples/", "docs/")
SOURCE_ONLY = {".c", ".h", ".pyc", ".so", ".pyd"}
EXPECTED = "error[root-gradient-at-zero]"


def main(paths: list[str]) -> int:
    """Try each wheel and print a line about it; return 1 if one is not as it should be."""
    wrong = [problem for path in paths for problem in try_wheel(Path(path))]
    print(*wrong, sep="\n")  # noqa: T201
    return int(bool(wrong) or not paths)


def try_wheel(wheel: Path) -> list[str]:
    """Print what a wheel holds and how the demo went; return what is wrong."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    wrong = [f"{wheel.name} lacks {name}" for name in sorted(wanted() - names)]
    wrong += [
        f"{wheel.name} holds {name}"
        for name in sorted(names)
        if name.startswith(UNWANTED) or name.endswith((".c", ".h", ".pyc"))
    ]
    is_pure = wheel.name.endswith("-py3-none-any.whl")
    if is_pure == any("/_fast." in name and not name.endswith(".pyi") for name in names):
        wrong.append(f"{wheel.name}: its tags and its content disagree about the accelerator")
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.2f} MB, {len(names)} files", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        return wrong + demo_problems(wheel, Path(folder), is_pure=is_pure)


def wanted() -> set[str]:
    """Return the files that a wheel must hold."""
    return {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "torchwhy").rglob("*")
        if path.is_file() and path.suffix not in SOURCE_ONLY
    }


def demo_problems(wheel: Path, folder: Path, *, is_pure: bool) -> list[str]:
    """Install a wheel into an empty environment and run the demo there; return what went wrong."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    purelib = sysconfig.get_path(
        "purelib", vars={"base": str(environment), "platbase": str(environment)}
    )
    borrowed = [entry for entry in sys.path if entry.endswith("site-packages")]
    (Path(purelib) / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    (folder / "demo.py").write_text((ROOT / "examples" / "demo.py").read_text())
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    bare |= {"PATH": str(scripts), "CC": "there-is-no-compiler", "COLUMNS": "100"}

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=folder, env=bare, capture_output=True, text=True, check=False
        )

    asked = "import torchwhy, importlib.util as u; print(torchwhy.__file__); print(u.find_spec('{}') is None)"
    found = run(python, "-c", asked.format("torchwhy.observe.native._fast")).stdout.split()
    ran = run(scripts / "torchwhy", "run", "demo.py")
    print(f"  {ran.stderr.splitlines()[-1] if ran.stderr else 'no report'}", flush=True)  # noqa: T201
    wrong = []
    if not found or not found[0].startswith(str(environment)):
        wrong.append(f"{wheel.name}: torchwhy came from {found[:1]}")
    if found[1:] != [str(is_pure)]:
        wrong.append(f"{wheel.name}: the accelerator is there where it should not be, or not there")
    if ran.returncode != 1 or EXPECTED not in ran.stderr:
        wrong.append(
            f"{wheel.name}: the demo ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
        )
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
