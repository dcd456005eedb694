"""Reads from the source what the program calls the operands of an expression; evaluates nothing."""

from __future__ import annotations

import linecache
from functools import lru_cache

from torchwhy.finding import SourceSpan
from torchwhy.observe.program.frames import Site, span_of
from torchwhy.source import values
from torchwhy.source.values import Node


@lru_cache(maxsize=2048)
def node_at(site: Site) -> Node | None:
    """Return the syntax of the expression a site was executing."""
    return values.only_statement_of(_text_of(site))


def _text_of(site: Site) -> str:
    """Return the whole expression; a span shortens a long one."""
    span = span_of(site)
    lines = linecache.getlines(site.code.co_filename)[span.line - 1 : span.end_line or span.line]
    if not lines or span.column is None or span.end_column is None:
        return span.expression or ""
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "".join(lines)


def operand_names(site: Site) -> list[str]:
    """Return the operands of an expression as the program writes them, in order."""
    return values.operand_names(node_at(site))


def writes_nonfinite_constant(site: Site) -> bool:
    """Tell whether the expression itself spells NaN or infinity: `float('nan')`, `math.inf`, `-np.inf`, `1e999`."""
    return values.spells_nonfinite(node_at(site))


def span_in_module(site: Site, module: str | None) -> SourceSpan:
    """Return a site's span with the module it ran in."""
    span = span_of(site)
    if module is None:
        return span
    return SourceSpan(
        file=span.file,
        line=span.line,
        end_line=span.end_line,
        column=span.column,
        end_column=span.end_column,
        function=span.function,
        module=module,
        expression=span.expression,
    )
