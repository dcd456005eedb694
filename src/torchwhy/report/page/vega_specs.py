"""Charts as Vega-Lite specifications: plain data, made without any library.

Names from the program occur only as values of the data. Vega reads field names and titles as text, never as code.
"""

from __future__ import annotations

import math
from typing import Any

from torchwhy.report.page.page_model import Chart, HeatMap, LineChart

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
COLOURS = ["#3b7dd8", "#d9822b", "#3f9c5a", "#a65fc4", "#c2566b", "#7a8793"]
HEIGHT = 200
ROW_HEIGHT = 16
STATIC_WIDTH = 640
BAD = "#d62828"
MOST_TOOLTIPS = 120  # of one chart
# Marks that read well on white and on black; axes take the page's colours from its style sheet.
CONFIG: dict[str, Any] = {
    "background": None,
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {
        "labelFontSize": 11,
        "titleFontWeight": "normal",
        "labelColor": "#777",
        "titleColor": "#777",
        "gridColor": "#8884",
        "tickColor": "#8888",
    },
    "axisX": {"domainColor": "#8888"},
    "legend": {"labelColor": "#777", "titleColor": "#777", "orient": "top", "title": None},
}


def spec_of(chart: Chart) -> dict[str, Any]:
    """Return the specification of a chart, as wide as its container."""
    body = _lines(chart) if isinstance(chart, LineChart) else _heat_map(chart)
    return {"$schema": SCHEMA, "width": "container", "config": CONFIG, **body}


def static_spec_of(chart: Chart) -> dict[str, Any]:
    """Return the specification of a chart of a fixed width, without selections."""
    spec = spec_of(chart)
    if "layer" in spec:
        spec["layer"] = [_without_help(layer) for layer in spec["layer"] if not _is_help(layer)]
    return {**spec, "width": STATIC_WIDTH}


def _is_help(layer: dict[str, Any]) -> bool:
    """Tell whether a layer only makes tooltips easier to hit."""
    return bool(layer["mark"]["type"] == "point")


def _without_help(layer: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in layer.items() if key != "params"},
        "mark": {**layer["mark"], "aria": False},
    }


def _lines(chart: LineChart) -> dict[str, Any]:
    values = [
        {"x": x, "y": y, "s": series.name}
        for series in chart.series
        for x, y in zip(series.x, series.y, strict=True)
    ]
    scale = {"type": "log"} if chart.is_log else {"zero": chart.is_stacked}
    mark: dict[str, Any] = {
        "type": "line",
        "strokeWidth": 1.5,
        "clip": True,
        "invalid": "break-paths-show-domains",
    }
    if chart.is_stacked:
        mark = {"type": "area", "opacity": 0.8, "clip": True}
    encoding: dict[str, Any] = {
        "x": _x_of(chart),
        "y": {
            "field": "y",
            "type": "quantitative",
            "title": chart.y_title,
            "scale": scale,
            "axis": {"tickCount": 5, "format": "~g"},
            "stack": "zero" if chart.is_stacked else None,
        },
        "color": {
            "field": "s",
            "type": "nominal",
            "scale": {"domain": [one.name for one in chart.series], "range": COLOURS},
            "legend": None if len(chart.series) == 1 else {},
        },
        "tooltip": [
            {"field": "s", "type": "nominal", "title": "curve"},
            {"field": "x", "type": "quantitative", "title": chart.x_title},
            {"field": "y", "type": "quantitative", "title": chart.y_title},
        ],
    }
    zoom = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}
    layers: list[dict[str, Any]] = [{"mark": mark, "encoding": encoding, "params": [zoom]}]
    if not chart.is_stacked:
        layers.append({**_places_of_tooltips(values), "encoding": encoding})
    if chart.failed_at is not None:
        layers.append(_failing_step(chart))
    return {"height": HEIGHT, "data": {"values": values}, "layer": layers}


def _places_of_tooltips(values: list[dict[str, Any]]) -> dict[str, Any]:
    """Return invisible points, few enough to be made quickly: a line itself has only one tooltip."""
    some = values[:: 1 + len(values) // MOST_TOOLTIPS]
    return {
        "data": {"values": some},
        "mark": {"type": "point", "opacity": 0, "size": 60, "tooltip": True, "aria": False},
    }


def _x_of(chart: LineChart) -> dict[str, Any]:
    return {
        "field": "x",
        "type": "quantitative",
        "title": chart.x_title,
        "scale": {"nice": False},
        "axis": {"grid": False, "tickMinStep": 1, "format": "d"},
    }


def _failing_step(chart: LineChart) -> dict[str, Any]:
    data = {"values": [{"x": chart.failed_at, "t": f"step {chart.failed_at} failed"}]}
    return {
        "data": data,
        "mark": {"type": "rule", "color": BAD, "strokeDash": [4, 3], "clip": True},
        "encoding": {
            "x": _x_of(chart),
            "tooltip": {"field": "t", "type": "nominal", "title": "failed"},
        },
    }


def _heat_map(chart: HeatMap) -> dict[str, Any]:
    cells: list[dict[str, Any]] = [
        {"r": row, "c": str(step), "v": None if value is None or math.isinf(value) else value,
         "bad": value is not None and math.isinf(value)}
        for row, values in zip(chart.rows, chart.values, strict=True)
        for step, value in zip(chart.columns, values, strict=True)
        if value is not None
    ]  # fmt: skip
    scale: dict[str, Any] = {"scheme": "viridis", "domainMin": 0}
    if not chart.is_log:
        scale["domainMax"] = 1
    else:
        positive = [one["v"] for one in cells if one["v"]]
        if positive and max(positive) > 50 * min(positive):
            domain = [min(positive), max(positive)]
            scale = {"scheme": "viridis", "type": "log", "clamp": True, "domain": domain}
    encoding = {
        "x": {"field": "c", "type": "ordinal", "title": "step", "sort": [str(c) for c in chart.columns],
              "axis": {"labelOverlap": True, "labelAngle": 0}},
        "y": {"field": "r", "type": "ordinal", "title": None, "sort": list(chart.rows), "axis": {"labelLimit": 180}},
        "color": {
            "condition": {"test": {"field": "bad", "equal": True}, "value": BAD},
            "field": "v", "type": "quantitative", "scale": scale,
            "legend": {"title": chart.unit, "orient": "bottom", "gradientLength": 200, "format": "~g"},
        },
        "tooltip": [
            {"field": "r", "type": "nominal", "title": "row"},
            {"field": "c", "type": "ordinal", "title": "step"},
            {"field": "v", "type": "quantitative", "title": chart.unit},
            {"field": "bad", "type": "nominal", "title": "not finite"},
        ],
    }  # fmt: skip
    return {
        "height": ROW_HEIGHT * len(chart.rows),
        "data": {"values": cells},
        "mark": {
            "type": "rect",
            "aria": False,
            "invalid": None,
        },  # A cell that is not finite has no value.
        "encoding": encoding,
    }
