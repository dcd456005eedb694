"""Makes `docs/reference/page.png` anew: runs the demo, and photographs its page in Debian's chromium.

python -m tests.support.take_screenshot
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "reference" / "page.png"
SIZE = {"width": 1000, "height": 1120}
MOST_BYTES = 200_000


def main() -> None:
    """Write the picture, or say why not."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium (apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        # The file keeps its name from the README, whatever folder the run is recorded in.
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        command = [sys.executable, "-m", "torchwhy", "run", "--quiet", "--html", str(page)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, "examples/demo.py"], check=False, cwd=folder, env=environment)
        photograph(page, chromium)
    size = PICTURE.stat().st_size
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {size} bytes\n")
    if size > MOST_BYTES:
        sys.exit(f"it is larger than {MOST_BYTES} bytes")


def photograph(page: Path, chromium: str) -> None:
    """Write the top of the page as a picture, once all charts are drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-drawn]", timeout=60_000)
        tab.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
