"""The page as HTML: one file without network, in which everything from the program is escaped.

The content security policy allows the two scripts in the file by their hashes and no others, no request, and no
evaluation of text as code: Vega interprets its expressions.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from torchwhy.plain_data import dataclass
from torchwhy.printable import printable
from torchwhy.record.run_file import known_secrets
from torchwhy.record.secrets import Secrets
from torchwhy.report.page import plain_svg, vega_bundle
from torchwhy.report.page.page_model import Chart, CodeLine, HeatMap, LineChart, Page
from torchwhy.report.page.png_writer import data_address
from torchwhy.report.page.vega_specs import spec_of, static_spec_of

TEMPLATES = Path(__file__).parent / "templates"
TABLE_ROWS = 60  # of the numbers of a chart
LINE_HEIGHT = 22  # pixels, as in page.css
EXTRA = "torchwhy[html]"


@dataclass(frozen=True)
class Drawing:
    """A chart as it stands in the page: SVG, and the specification if a library is there to draw it."""

    svg: Markup
    spec: Markup | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def render(page: Page, *, interactive: bool | None = None) -> str:
    """Return the HTML; `interactive` says whether charts are drawn by Vega (default: if it is installed)."""
    with_vega = vega_bundle.version() is not None if interactive is None else interactive
    charts, secrets = page.charts, known_secrets()
    with_vega = with_vega and bool(charts)
    scripts = [vega_bundle.bundle()] if with_vega else []
    scripts.append(own_file("page.js"))
    style = own_file("page.css")
    template = environment_of(secrets).get_template("page.html.j2")
    return template.render(
        page=page,
        style=trusted(style),
        scripts=[trusted(script) for script in scripts],
        policy=policy(scripts),
        drawings={
            chart.id: drawing
            for chart, drawing in zip(
                charts, _drawings(charts, secrets, with_vega=with_vega), strict=True
            )
        },
        with_vega=with_vega,
        extra=EXTRA,
        way=_way(page),
        plain=plain_svg,
        image=data_address,
        parts=parts_of,
    )


def policy(scripts: Sequence[str], *, connects: bool = False) -> str:
    """Return a content security policy that allows these scripts alone; `connects` allows requests to the server."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
    requests = " connect-src 'self';" if connects else ""
    return (
        f"default-src 'none'; script-src {hashes};{requests} style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def trusted(text: str) -> Markup:
    """Return text that is markup: our own files, and drawings in which all names are escaped."""
    return Markup(text)  # noqa: S704


@cache
def own_file(name: str) -> str:
    """Return a file that stands in a page as it is."""
    return (TEMPLATES / name).read_text(encoding="utf8")


def environment_of(secrets: Secrets, *folders: Path) -> Environment:
    """Return an environment in which all text is escaped, over our templates and those of further folders."""

    def safe(value: Any) -> Any:
        """Return text without secrets, control and bidirectional characters; what is markup already stays."""
        if isinstance(value, str) and not isinstance(value, Markup):
            return printable(secrets.masked(value))
        return value

    environment = Environment(
        loader=FileSystemLoader([TEMPLATES, *folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=safe,
    )
    environment.filters["svg"] = trusted
    environment.filters["prose"] = lambda text: prose(str(safe(text)))
    return environment


def prose(text: str) -> Markup:
    """Return a sentence with its `code` between backticks set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # A backtick of the program's own.
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def _drawings(charts: Sequence[Chart], secrets: Secrets, *, with_vega: bool) -> Iterator[Drawing]:
    if with_vega:
        drawn: list[str] = vega_bundle.drawn(
            [_cleaned(static_spec_of(chart), secrets) for chart in charts]
        )
    else:
        drawn = [plain_svg.chart_svg(chart) for chart in charts]
    for chart, picture in zip(charts, drawn, strict=True):
        spec = trusted(embedded_json(_cleaned(spec_of(chart), secrets))) if with_vega else None
        yield Drawing(trusted(picture), spec, *numbers_of(chart))


def _cleaned(data: Any, secrets: Secrets) -> Any:
    """Return plain data whose texts have no secrets, control and bidirectional characters."""
    if isinstance(data, str):
        return printable(secrets.masked(data))
    if isinstance(data, dict):
        return {name: _cleaned(value, secrets) for name, value in data.items()}
    return [_cleaned(value, secrets) for value in data] if isinstance(data, list) else data


def embedded_json(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def numbers_of(chart: Chart) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the numbers behind a chart as a table: column names and at most `TABLE_ROWS` rows."""
    if isinstance(chart, HeatMap):
        few = _spread(list(range(len(chart.columns))), 8)
        columns = ("", *(f"step {chart.columns[i]}" for i in few))
        return columns, tuple(
            (name, *(_number(values[i]) for i in few))
            for name, values in zip(chart.rows, chart.values, strict=True)
        )
    return _numbers_of_lines(chart)


def _numbers_of_lines(
    chart: LineChart,
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    by_x: dict[float, dict[str, float | None]] = {}
    for one in chart.series:
        for x, y in zip(one.x, one.y, strict=True):
            by_x.setdefault(x, {})[one.name] = y
    names = [one.name for one in chart.series]
    rows = tuple(
        (
            f"{x:g}" if x < 1e6 else f"{x:.0f}",
            *(_number(by_x[x][n]) if n in by_x[x] else "" for n in names),
        )
        for x in _spread(sorted(by_x), TABLE_ROWS)
    )
    return (chart.x_title, *names), rows


def _number(value: float | None) -> str:
    return "not finite" if value is None or value == float("inf") else f"{value:.4g}"


def _spread(values: list[Any], most: int) -> list[Any]:
    if len(values) <= most:
        return values
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]


def parts_of(line: CodeLine) -> tuple[str, str, str]:
    """Return the text before, in and after the marked columns."""
    return line.text[: line.start], line.text[line.start : line.end], line.text[line.end :]


def _way(page: Page) -> Markup:
    """Return the path beside the listings; the heights follow from the lines as the template writes them."""
    heights: dict[int, float] = {}
    y = 0.0
    for listing in page.listings:
        y += LINE_HEIGHT  # the name of the file
        for line in listing.lines:
            if line.station:
                heights[line.station] = y + LINE_HEIGHT / 2
            y += LINE_HEIGHT * (1 + len(line.labels))
    return trusted(plain_svg.path_svg(sorted(heights.items()), y)) if heights else trusted("")
