"""What every fragment is made with: templates, the style, sections, figures with their numbers."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stackchoice.facts import Facts, figures
from stackchoice.facts.told import Why
from stackchoice.load.untrusted import visible
from stackchoice.present import text
from stackchoice.present.drawing import LONGEST, Chart, frame_of, rows_of, to_svg
from stackchoice.scenario import Scenario
from stackchoice.scenario.words import label
from stackchoice.why import explain

#: Output type that marks a notebook's output as a section of the report.
SECTION_MIME = "application/vnd.stackchoice.section"

#: Filters of :mod:`stackchoice.present.text` that templates use.
FILTERS = (
    "number", "usd", "gb", "both_units", "interval", "volume", "canary", "cents", "price", "times",
    "share", "headline", "gained", "engine_name",
)  # fmt: skip

#: A chart with the text that says the same without the picture.
Drawn = tuple[Chart, str]
#: What a template asks for explanations with.
Reason = Callable[[str], Markup]

#: A figure whose picture is still to be drawn.
BARE = re.compile(r'(<figure class="box" role="img" tabindex="0" aria-label="[^"]*">)(?=</figure>)')
#: A table up to the end of its caption, and the rest of it.
TABLE = re.compile(r"<table[^>]*>\s*<caption[^>]*>(.*?)</caption>.*?</table>", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """One rendered section; shows itself in a notebook.

    Attributes
    ----------
    bare
        The section with figures that are still empty.
    drawn
        What is drawn into them, in their order.
    told
        Gives what stands behind an answer whose "Why?" is still empty.
    """

    name: str
    bare: str
    drawn: tuple[Drawn, ...] = ()
    told: Reason | None = None

    @cached_property
    def html(self) -> str:
        """The section with its pictures, drawn here."""
        left = iter(self.drawn)
        return BARE.sub(lambda figure: f"{figure[1]}{drawing(next(left))}", self.bare)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, SECTION_MIME: self.name, "text/plain": self.name}


@dataclass(frozen=True)
class Picture:
    """A chart in a notebook, with its text and, one click away, its numbers as a pandas frame."""

    chart: Chart
    spoken: str

    @property
    def frame(self) -> pd.DataFrame:
        """The numbers that the chart draws."""
        return frame_of(self.chart)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return section("picture", drawn=(self.chart, self.spoken))._repr_mimebundle_()


def picture(drawn: Drawn) -> Picture:
    """Return a chart with its text as a notebook shows it."""
    return Picture(*drawn)


class Reasons:
    """Why each answer of a scenario's decision is what it is, by the answer's key.

    Explained once, when first asked; a key without an explanation gives nothing.

    Parameters
    ----------
    later
        Whether elements are empty and a panel's page asks for what is in them as they are unfolded.
    """

    def __init__(self, scenario: Scenario, facts: Facts, *, later: bool = False) -> None:
        self._told, self.later = cache(lambda: explain(scenario, facts)), later

    def __call__(self, key: str) -> Markup:
        """Return one explanation as an element that unfolds."""
        return Markup(render("later", key=key)) if self.later else self.now(key)

    def now(self, key: str) -> Markup:
        """Return the same with what is in it."""
        return why_html(self._told().get(key))

    def about(self, *kinds: str) -> Section:
        """Return the explanations of these kinds (``memory``, ``decode``, ``cost``, ...)."""
        return section("reasons", reasons=self._told().of(*kinds))


def no_reasons(key: str) -> Markup:
    """Return nothing: what is shown was not decided for a scenario."""
    return Markup()


def why_html(why: Why | None) -> Markup:
    """Return rule, sums and facts of an answer as an element that unfolds; nothing for None."""
    return Markup() if why is None else Markup(render("why", why=why))


@cache
def environment() -> Environment:
    """Return the template environment: everything is escaped, a missing name is an error."""
    env = Environment(
        loader=PackageLoader("stackchoice.present"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_plain,
    )  # fmt: skip
    env.filters |= {name: getattr(text, name) for name in FILTERS}
    env.filters |= {
        "label": label,
        "known_count": lambda value: text.UNKNOWN if value is None else value,
        "figure_cell": lambda value: figures.shown(value) if value == value else "",
    }
    env.globals |= {"why": no_reasons, "why_html": why_html}
    return env


def _plain(value: Any) -> Any:
    """Put out text of anybody's without control and direction marks, which HTML leaves alone."""
    return value if isinstance(value, Markup) else visible(str(value), LONGEST)


def render(template: str, /, **context: Any) -> str:
    """Return a template's text."""
    return environment().get_template(f"{template}.html.j2").render(**context)


def section(name: str, /, **context: Any) -> Section:
    """Return a template as a section that stands alone, in its own style."""
    inner = page_section(name, **context)
    return replace(inner, bare=f'<style>{style()}</style>\n<div class="sc">\n{inner.bare}\n</div>')


def joined(name: str, *parts: Section) -> Section:
    """Return sections one below the other, as one that arrives at once."""
    drawn = tuple(one for part in parts for one in part.drawn)
    told = next((part.told for part in parts if part.told), None)
    return Section(name, "".join(part.bare for part in parts), drawn, told)


def page_section(template: str, /, **context: Any) -> Section:
    """Return a template as a section of a page that has the style."""
    drawn: list[Drawn] = []

    def figure(one: Drawn) -> Markup:
        if not rows_of(one[0]):  # nothing to draw, and no scale has ends
            return Markup("<p>{}</p>").format(visible(one[1], LONGEST))
        drawn.append(one)
        opening = Markup('<figure class="box" role="img" tabindex="0" aria-label="{}"></figure>')
        return opening.format(visible(one[1], LONGEST)) + numbers_of(one)

    text = TABLE.sub(_boxed, render(template, figure=figure, **context))
    why = context.get("why")
    told = why.now if isinstance(why, Reasons) and why.later else None
    return Section(template, text, tuple(drawn), told)


def _boxed(table: re.Match[str]) -> str:
    """Put a table into a box that keys can scroll, for pages that are narrower than it."""
    opening = Markup('<div class="box" role="region" tabindex="0" aria-label="{}">')
    return f"{opening.format(Markup(table[1]).striptags())}{table[0]}</div>"


def drawing(drawn: Drawn) -> Markup:
    """Return a chart as inline SVG.

    A page reads the label of the figure around it; a PDF takes the title of the drawing.
    """
    opening, inner = visible(to_svg(drawn[0]), 2**24).split(">", 1)
    shell = Markup('{} aria-hidden="true"><title>{}</title>{}')
    return shell.format(Markup(opening), visible(drawn[1], LONGEST), Markup(inner))


def numbers_of(drawn: Drawn) -> Markup:
    """Return the numbers of a chart as a table that unfolds."""
    rows = rows_of(drawn[0])
    return Markup(render("numbers", columns=list(rows[0]), rows=[row.values() for row in rows]))


@cache
def style() -> str:
    """Return the style sheet of the sections."""
    return (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
