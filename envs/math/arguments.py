r"""Writes braces around the arguments of LaTeX's commands that have none: `\frac\pi4` is `\frac{\pi}{4}`."""

from __future__ import annotations

import re

_BRACED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_SYMBOL = (
    r"\\(?:pi|alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|upsilon|phi|chi|psi|omega"
    r"|var(?:epsilon|theta|rho|sigma|phi)|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega|infty|ell|hbar|imath|jmath)"
    r"(?![A-Za-z])"
)
"""Command of one symbol, which takes no argument of its own."""
_DIGIT = r"\d(?!\.?\d)"
"""Digit that is a number of its own. LaTeX would take the first one of several."""
_TOKEN = rf"{_BRACED}|{_SYMBOL}|[A-Za-z]|{_DIGIT}"
_FRACTION = re.compile(
    rf"\\([dtc]?frac|[dt]?binom)(?![A-Za-z])\s{{0,9}}({_BRACED}|{_SYMBOL}|[A-Za-z]|\d)\s{{0,9}}({_TOKEN})"
)
_ROOT = re.compile(
    rf"\\sqrt\s{{0,9}}(\[[^\[\]]{{1,20}}\])\s{{0,9}}({_SYMBOL}|[A-Za-z]|{_DIGIT})|\\sqrt\s{{0,9}}({_SYMBOL}|[A-Za-z])"
)
_MARKED = re.compile(
    r"\\(bar|hat|vec|tilde|d?dot|over(?:line|rightarrow)|wide(?:hat|tilde)|math(?:bf|rm|it|sf|bb|cal|frak|scr)"
    rf"|boldsymbol|bm|pmb|bold)(?![A-Za-z])\s{{0,9}}({_SYMBOL}|[A-Za-z])"
)
"""Letter with a mark above it, or in another font."""


def with_braces(text: str) -> str:
    r"""Returns a text whose fractions, binomials, roots, accents and fonts have braces around arguments of one token.
    Where LaTeX would take one of several digits (`\frac\pi12`), they stay as they are.
    """
    rooted = _ROOT.sub(
        lambda found: f"\\sqrt{found[1] or ''}{{{found[2] or found[3]}}}", _MARKED.sub(r"\\\1{\2}", text)
    )
    return _FRACTION.sub(lambda found: f"\\{found[1]}{_braced(found[2])}{_braced(found[3])}", rooted)


def _braced(argument: str) -> str:
    return f"{{{with_braces(argument[1:-1])}}}" if argument.startswith("{") else f"{{{argument}}}"
