/** Draws curves with uPlot. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "../base/theme";
import { real } from "../base/words";
import { Said } from "./text";
import { withSigns } from "./visible";

export interface Curve {
  name: string;
  values: (number | null)[];
}

interface ChartProps {
  title: string;
  x: number[];
  /** Says a place of the horizontal axis in words. */
  word: (x: number) => string;
  curve: Curve;
  /** Bounds of the vertical axis, which grow where values lie outside. */
  bounds?: [number, number] | undefined;
  /** Opens what a place stands for. */
  open?: ((x: number) => void) | undefined;
}

const HEIGHT = 160;

/** Draws one curve. A box at the pointer tells the value; the same values stand in the title for screen readers. */
export function Chart({ title, x, word, curve, bounds, open }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const said = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const opens = useRef(open);
  opens.current = open;
  const theme = useTheme();
  const data: uPlot.AlignedData = [x, curve.values];
  useEffect(() => {
    const element = holder.current!;
    const made = new uPlot(optionsOf(element, bounds, word, said.current!), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    made.over.addEventListener("click", () => {
      const at = made.cursor.idx;
      if (at !== null && at !== undefined) opens.current?.(made.data[0]![at]!);
    });
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [theme]);
  useEffect(() => plot.current?.setData(data), [x.join(), curve.values.join()]);
  const known = curve.values.filter((value) => value !== null);
  const ends = known.length ? `, from ${real(known[0])} to ${real(known.at(-1))}` : "";
  return (
    <figure class="chart" aria-label={withSigns(`${title}: ${known.length} values${ends}`)}>
      <figcaption>
        <Said text={title} />
      </figcaption>
      <div class="plot" ref={holder}>
        <div class="hover" ref={said} hidden aria-hidden="true" />
      </div>
    </figure>
  );
}

function optionsOf(
  element: HTMLElement,
  bounds: [number, number] | undefined,
  word: (x: number) => string,
  said: HTMLElement,
): uPlot.Options {
  const styles = getComputedStyle(document.documentElement);
  const colour = (name: string) => styles.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour("--quiet"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      x: { time: false },
      y: { range: (_, low, high) => rangeOf(low, high, bounds) },
    },
    axes: [
      { ...axis, size: 24, values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? String(at) : "")) },
      { ...axis, size: 44, values: (_, splits) => splits.map((at) => real(at)) },
    ],
    series: [{}, { stroke: colour("--accent"), width: 2, points: { size: 5, fill: colour("--accent") }, spanGaps: true }],
    hooks: { setCursor: [(made) => tell(made, word, said)] },
  };
}

function rangeOf(low: number | null, high: number | null, bounds: [number, number] | undefined): [number, number] {
  if (bounds) return [Math.min(bounds[0], low ?? bounds[0]), Math.max(bounds[1], high ?? bounds[1])];
  const top = high ?? 1;
  const bottom = Math.min(0, low ?? 0);
  return [bottom, top > bottom ? top + (top - bottom) * 0.05 : bottom + 1];
}

/** Tells the value at the pointer in a box beside it. */
function tell(made: uPlot, word: (x: number) => string, said: HTMLElement): void {
  const at = made.cursor.idx;
  const left = made.cursor.left ?? -1;
  said.hidden = at === null || at === undefined || left < 0;
  if (said.hidden) return;
  const x = made.data[0]![at!]!;
  said.textContent = `${word(x)}: ${real(made.data[1]![at!])}`;
  const width = made.over.clientWidth;
  const isRight = left > width / 2;
  said.style.left = isRight ? "auto" : `${left + 56}px`;
  said.style.right = isRight ? `${width - left + 12}px` : "auto";
}
