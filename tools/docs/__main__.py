"""Write the pages of the site and the configuration of MkDocs into a folder.

python -m tools.docs build/docs                 all pages, with the real output of the programs in them
python -m tools.docs --no-outputs build/docs    without running them, to look at the rest
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from tools.docs.causes.cause_links import link_causes
from tools.docs.causes.cause_list import PAGE as GALLERY_PAGE
from tools.docs.causes.cause_list import WORDS_FILE, gallery_page, words_script
from tools.docs.causes.cause_pages import cause_pages
from tools.docs.consoles import Runner, fill_consoles, leave_out, run_command
from tools.docs.navigation import navigation
from tools.docs.places import CAUSES, ROOT, THEME
from tools.docs.reference.commands_page import PAGE as COMMANDS_PAGE
from tools.docs.reference.commands_page import commands_page
from tools.docs.reference.python_page import PAGE as PYTHON_PAGE
from tools.docs.reference.python_page import python_page
from tools.docs.reference.schema_page import PAGE as SCHEMA_PAGE
from tools.docs.reference.schema_page import schema_page
from tools.docs.written_pages import other_files, written_pages


def all_pages(run: Runner) -> dict[str, str]:
    """Return the Markdown of every page of the site by its path."""
    pages = {page: fill_consoles(text, page=page, run=run) for page, text in written_pages()}
    made = dict(cause_pages())
    pages |= made
    pages |= {
        GALLERY_PAGE: gallery_page(),
        COMMANDS_PAGE: commands_page(),
        SCHEMA_PAGE: schema_page(),
        PYTHON_PAGE: python_page(),
    }
    causes = {page.removeprefix(f"{CAUSES}/").removesuffix(".md") for page in made}
    return {page: link_causes(text, page=page, causes=causes) for page, text in pages.items()}


def write_site(target: Path, *, run: Runner) -> None:
    """Write pages, other files and the configuration; what was in the folder is removed."""
    shutil.rmtree(target, ignore_errors=True)
    pages = all_pages(run)
    for page, text in pages.items():
        _write(target / "pages" / page, text)
    _write(target / "pages" / WORDS_FILE, words_script())
    for name, path in other_files():
        _copy(path, target / "pages" / name)
    for path in THEME.iterdir():
        _copy(path, target / "pages" / "theme" / path.name)
    # JSON is YAML.
    settings = {
        "INHERIT": str(ROOT / "tools" / "docs" / "mkdocs.yml"),
        "docs_dir": str(target.resolve() / "pages"),
        "site_dir": str(target.resolve().parent / "site"),
        "nav": navigation(pages),
    }
    _write(target / "mkdocs.yml", json.dumps(settings, indent=1, ensure_ascii=False))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")


def _copy(source: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, path)


def main() -> int:
    """Write the folder that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--no-outputs", action="store_true")
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    write_site(options.target, run=leave_out if options.no_outputs else run_command)
    return 0


if __name__ == "__main__":
    sys.exit(main())
