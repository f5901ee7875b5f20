"""Finds text and marks of a page that stand out too little from what is behind them (WCAG 2.2, 1.4.3 and 1.4.11, level AA)."""

from __future__ import annotations

from typing import Any

FAINT = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgba = (text) => {
        if (!known.has(text)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = text;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
            known.set(text, [r, g, b, a / 255]);
        }
        return known.get(text);
    };
    const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((one) => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ratio = (one, two) => {
        const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const behind = (element) => {
        if (!element) return [255, 255, 255, 1];
        const own = rgba(getComputedStyle(element).backgroundColor);
        return own[3] >= 1 ? own : over(own, behind(element.parentElement));
    };
    const opacity = (element) => element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
    const seen = (element) => {
        const box = element.getBoundingClientRect();
        return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== "hidden" && opacity(element) > 0;
    };
    const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
    const found = new Map();
    const tell = (what, element, value, least) => {
        if (value < least - 0.005) found.set(`${what} ${name(element)}`, Math.round(value * 100) / 100);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!node.data.trim() || element.closest(":disabled, .hidden, .skip, option, svg, title") || !seen(element)) continue;
        const style = getComputedStyle(element), ground = behind(element);
        const [r, g, b, a] = rgba(style.color);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        tell("text", element, ratio(over([r, g, b, a * opacity(element)], ground), ground), large ? 3 : 4.5);
    }
    for (const element of document.querySelectorAll("input, select, textarea")) {
        const type = element.getAttribute("type");
        if (type === "checkbox" || element.disabled || !seen(element)) continue;
        const style = getComputedStyle(element), ground = behind(element.parentElement);
        if (parseFloat(style.borderTopWidth)) tell("edge", element, ratio(over(rgba(style.borderTopColor), ground), ground), 3);
        if (element.placeholder) {
            const inner = behind(element), own = rgba(getComputedStyle(element, "::placeholder").color);
            tell("placeholder", element, ratio(over(own, inner), inner), 4.5);
        }
    }
    for (const element of document.querySelectorAll(".chip, .square:not(.legend .square), .timeline rect:not(.gap)")) {
        if (!seen(element)) continue;
        const style = getComputedStyle(element), ground = behind(element.parentElement);
        const fill = element.tagName === "rect" ? style.fill : style.backgroundColor;
        const isOutlined = parseFloat(style.outlineWidth) && style.outlineStyle !== "none";
        const edge = isOutlined ? style.outlineColor : parseFloat(style.borderTopWidth) ? style.borderTopColor : fill;
        tell("mark", element, Math.max(...[fill, edge].map((one) => ratio(over(rgba(one), ground), ground))), 3);
    }
    return [...found].map(([what, value]) => `${what}: ${value}`).sort();
}"""
"""Function in JavaScript that returns a line for each kind of element that is too faint, with its contrast.

Colours behind text are those of the elements that it is in, blended; text on pictures is not looked at. Marks have to stand
out by their fill or by their edge."""
NAMELESS = """() => [...document.querySelectorAll("a, button, input, select, textarea, iframe, summary, [role=search], [role=dialog]")]
    .filter((one) => one.getClientRects().length && !one.closest(".hidden"))
    .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.getAttribute("title")
        || one.textContent.trim() || (one.labels ?? []).length || one.getAttribute("role") === "presentation"))
    .map((one) => one.outerHTML.slice(0, 120))"""
"""Function in JavaScript that returns the beginning of each element that a screen reader could not name."""


def faint(page: Any) -> list[str]:
    """Returns a line for each kind of element of a page that is too faint."""
    return list(page.evaluate(FAINT))


def nameless(page: Any) -> list[str]:
    """Returns the elements of a page that have no accessible name."""
    return list(page.evaluate(NAMELESS))
