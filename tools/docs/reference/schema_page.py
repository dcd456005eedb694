"""The reference of report.json, from its JSON Schema."""

from __future__ import annotations

import json
from typing import Any

from tools.docs.markdown import table
from tools.docs.places import DOCS

PAGE = "reference/report-json.md"
INTRODUCTION = """# report.json

Made from [report.schema.json](report.schema.json) (JSON Schema 2020-12), against which the tests hold every report.
[Formats for machines](formats.md#reportjson) says what stays the same between versions. Fields in bold are always
there.
"""
MOST_VALUES = 12  # of an enumeration


def schema_page() -> str:
    """Return the page: a section for each object."""
    schema = json.loads((DOCS / "reference" / "report.schema.json").read_text(encoding="utf8"))
    parts = [INTRODUCTION]
    for name, definition in schema["$defs"].items():
        parts.append(f"\n## {name}\n\n{definition.get('description', '')}\n")
        if "properties" in definition:
            required = set(definition.get("required", ()))
            rows = [
                _field(key, value, is_required=key in required)
                for key, value in definition["properties"].items()
            ]
            parts.append(table(["field", "type", "meaning"], rows))
        else:
            parts.append(f"{_type(definition)}\n")
    return "\n".join(parts)


def _field(name: str, schema: dict[str, Any], *, is_required: bool) -> tuple[str, str, str]:
    meaning = schema.get("description", "").replace("<", "&lt;")
    if not is_required and schema.get("default") not in (None, [], {}, ""):
        meaning += f" Default: `{json.dumps(schema['default'])}`."
    return (
        f"**`{name}`**" if is_required else f"`{name}`",
        _type(schema),
        meaning.strip(),
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        values = [f"`{json.dumps(one)}`" for one in schema["enum"]]
        return " or ".join(values[:MOST_VALUES]) + (" …" if len(values) > MOST_VALUES else "")
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(map(_type, schema[choice]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
