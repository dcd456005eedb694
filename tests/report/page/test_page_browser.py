"""The page in a real browser: drawn, silent, without requests, readable in light and dark and on a phone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.report.page.example_pages import full_page, hostile_page, large_page
from torchwhy.report.page import vega_bundle
from torchwhy.report.page.page_render import render

CHROMIUM = shutil.which("chromium")
LEAST_CONTRAST = 4.5  # WCAG AA for text
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1100, "height": 900}

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (apt-get install chromium)"),
    pytest.mark.skipif(vega_bundle.version() is None, reason="torchwhy[html] is not installed"),
]

CONTRASTS = """(least) => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c; }
    return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || e.closest("script, style, noscript, svg circle")) continue;
    const inside = e.closest("svg"), style = getComputedStyle(e);
    if (e.classList.contains("number") && inside) continue;  // on its dot
    const pen = light(rgb(inside ? style.fill : style.color)), paper = light(ground(inside ? inside.parentElement : e));
    const ratio = (Math.max(pen, paper) + 0.05) / (Math.min(pen, paper) + 0.05);
    if (ratio < least) poor.push([e.tagName, e.textContent.slice(0, 40), ratio.toFixed(2)]);
  }
  return poor;
}"""
STRUCTURE = """() => {
  const all = s => [...document.querySelectorAll(s)];
  const levels = all("h1, h2, h3").map(h => +h.tagName[1]);
  return {
    main: all("main").length, header: all("body > header").length, h1: all("h1").length,
    unnamed: [...all("nav, [role=region], [role=img], svg[role]").filter(e => !e.ariaLabel),
              ...all("img").filter(e => !e.alt)].length,
    sections: all("section").filter(e => !document.getElementById(e.getAttribute("aria-labelledby"))).length,
    jumps: levels.filter((level, i) => i && level > levels[i - 1] + 1).length,
    headless: all("th").filter(e => e.scope !== "col").length,
    lang: document.documentElement.lang,
    ids: all("[id]").length - new Set(all("[id]").map(e => e.id)).size,
  };
}"""


PAGES = {"full": full_page, "hostile": hostile_page, "large": large_page}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def address_of(tmp_path_factory):
    """Return a function that writes an example page once, and gives its address."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def write(name: str) -> str:
        path = folder / f"{name}.html"
        path.write_text(render(PAGES[name]()), encoding="utf8")
        return path.as_uri()

    return write


class Tab:
    """A tab of the browser; `seen` is what it complained about or asked for besides the page itself."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_context(offline=True, **options).new_page()
        self.seen: list[str] = []
        self.page.on("console", lambda message: self.seen.append(message.text))
        self.page.on("pageerror", lambda error: self.seen.append(str(error)))
        self.page.on("dialog", lambda dialog: self.seen.append(dialog.message))
        self.page.on("request", lambda asked: asked.url == address or self.seen.append(asked.url))
        self.page.goto(address)

    def drawn(self) -> Tab:
        """Return the tab when all charts are drawn."""
        self.page.wait_for_selector("html[data-drawn]", timeout=60_000)
        return self


@pytest.fixture(scope="module")
def full(browser, address_of):
    return Tab(browser, address_of("full"), viewport=DESK).drawn()


def test_all_charts_are_drawn_without_a_word_or_a_request(full):
    count = len(full_page().charts)

    assert full.seen == []
    assert full.page.locator(".vega svg.marks").count() == count
    assert full.page.locator(".vega svg path[d]").count() > count


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_text_is_readable_and_nothing_is_wider_than_the_screen(full, scheme, size):
    full.page.emulate_media(color_scheme=scheme)
    full.page.set_viewport_size(size)
    full.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")

    assert full.page.evaluate(CONTRASTS, LEAST_CONTRAST) == []
    assert full.page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_a_screen_reader_finds_its_way(full):
    assert full.page.evaluate(STRUCTURE) == {
        "main": 1, "header": 1, "h1": 1, "unnamed": 0, "sections": 0, "jumps": 0, "headless": 0,
        "lang": "en", "ids": 0,
    }  # fmt: skip


def test_it_prints(full):
    assert full.page.pdf().startswith(b"%PDF")


def test_hostile_names_run_nothing(browser, address_of):
    tab = Tab(browser, address_of("hostile")).drawn()

    tab.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert tab.seen == []
    assert tab.page.evaluate("window.hacked") is None
    assert "<img src=x" in tab.page.locator("main").inner_text()


def test_without_scripts_the_charts_are_there(browser, address_of):
    tab = Tab(browser, address_of("full"), java_script_enabled=False)

    assert tab.seen == []
    assert tab.page.locator(".static svg").count() == len(full_page().charts)
    assert tab.page.locator(".vega svg").count() == 0


@pytest.mark.slow
def test_a_large_page_draws_each_chart_in_a_task_of_its_own(browser, address_of):
    tab = browser.new_page()
    browser.start_tracing(page=tab, categories=["disabled-by-default-devtools.timeline"])

    tab.goto(address_of("large"))
    tab.wait_for_selector("html[data-drawn]", timeout=60_000)

    events = json.loads(browser.stop_tracing())["traceEvents"]
    tasks = [one for one in events if one["name"] == "RunTask" and "tdur" in one]
    assert len(tasks) > len(large_page().charts)
