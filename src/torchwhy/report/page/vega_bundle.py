"""The extra `torchwhy[html]`: the JavaScript that draws Vega-Lite charts, and charts as SVG for readers without it.

Making the bundle takes some five seconds, so it is kept for each version of the library, beside the recorded runs:
torchwhy writes nothing outside of its own folder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from torchwhy.errors import TraceError
from torchwhy.record.run_folder import read_bounded, replace_file

LIBRARY = "vl-convert-python"
OWN_FOLDER = ".torchwhy"  # of the working directory
LARGEST_BUNDLE = 8_000_000
NAMES = "window.vegaEmbed=vegaEmbed;"


def version() -> str | None:
    """Return the version of the library; None if it is not installed."""
    try:
        import vl_convert  # noqa: F401

        return metadata.version(LIBRARY)
    except (ImportError, metadata.PackageNotFoundError):
        return None


@lru_cache(maxsize=1)
def bundle() -> str:
    """Return the JavaScript with everything it needs, as it was kept if this version was bundled before."""
    folder = _kept_in()
    path = None if folder is None else folder / f"vega-{version()}.js"
    if path is not None:
        with suppress(OSError, ValueError, TraceError):
            known = read_bounded(path, LARGEST_BUNDLE).decode("utf8")
            if known.endswith("\n"):  # written as a whole
                return known
    import vl_convert

    print("torchwhy: bundling the chart library, once for this version …", file=sys.stderr)  # noqa: T201
    made = _inside_script(vl_convert.javascript_bundle(NAMES)) + "\n"
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            replace_file(path, made)
    return made


def drawn(specs: Sequence[dict[str, Any]]) -> list[str]:
    """Return each chart as SVG."""
    import vl_convert

    return [vl_convert.vegalite_to_svg(spec) for spec in specs]


def _inside_script(code: str) -> str:
    """Return JavaScript that cannot end the element it stands in."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _kept_in() -> Path | None:
    """Return the folder to keep the bundle in; None if no run was recorded here."""
    folder = Path(OWN_FOLDER)
    return folder / "cache" if folder.is_dir() and not folder.is_symlink() else None
