"""Looks at a viewer in headless Chromium: how smoothly a sample scrolls, and what a look costs a run that is played."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import MeasurementFailed
from benchmarks.viewer.served import viewing

FRAMES = """async ([selector, step]) => {
    const element = document.querySelector(selector), began = performance.now();
    let frames = 0, top = 0;
    while (performance.now() < began + 3000) {
        await new Promise(requestAnimationFrame);
        frames += 1; top += step; element.scrollTop = top;
    }
    return [frames / ((performance.now() - began) / 1000), element.scrollTop];
}"""
"""Scrolls an element for three seconds, and returns frames a second and how far it came."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Gives a headless Chromium while the block runs. Errors: MeasurementFailed if there is none."""
    from playwright.sync_api import sync_playwright  # of the extra `dev`

    if (program := shutil.which("chromium")) is None:
        raise MeasurementFailed("chromium is not installed: apt-get install chromium, or leave it out by --no-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def frames_a_second(run: Path) -> float:
    """Scrolls the first sample of a run's episode `e0`, and returns frames a second. Errors: MeasurementFailed."""
    with viewing(run) as viewer, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{viewer.address}/run/{run.name}/episode/e0/sample/0")
        page.wait_for_selector(".tok")
        speed, came = page.evaluate(FRAMES, [".flow", 120])
    if came < 1000:
        raise MeasurementFailed("the sample did not scroll")
    return float(speed)


def seconds_of_run(folder: Path, name: str, *options: str) -> float:
    """Plays a run by `ray-gym rollout`, and returns the seconds from its first lease to its last file, as it says them.
    `options`: the config, and overrides. Errors: MeasurementFailed.
    """
    command = [sys.executable, "-m", "ray_gym", "rollout", *options, f"run.name={name}", f"output.dir={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("done")), None)
    if line is None:
        raise MeasurementFailed(done.stderr[-2000:])
    return float(line.split(" in ")[1].split()[0])


def seconds_while_seen(folder: Path, name: str, *options: str) -> float:
    """Plays a run as `seconds_of_run` does, with a viewer open on it in a browser. Errors: MeasurementFailed."""
    took: list[float | MeasurementFailed] = []

    def play() -> None:
        try:
            took.append(seconds_of_run(folder, name, *options))
        except MeasurementFailed as error:
            took.append(error)

    with viewing(folder) as viewer, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        playing = threading.Thread(target=play)
        playing.start()
        while playing.is_alive() and not (folder / name / "run.yaml").exists():
            time.sleep(0.1)
        page.goto(f"{viewer.address}/run/{name}")
        playing.join()
    [result] = took
    if isinstance(result, MeasurementFailed):
        raise result
    return result
