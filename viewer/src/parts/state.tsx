/** Shows states, rewards and figures in few signs. */

import { real } from "../base/words";
import { Said } from "./text";

/** Shows the status of an episode or the state of a run. A sign of its own stands beside the colour. */
export function Status({ is }: { is: string }) {
  const signs: Record<string, string> = { completed: "●", finished: "●", failed: "✕", live: "▶", damaged: "✕", stream: "≋" };
  return (
    <span class={`status ${is}`}>
      <span aria-hidden="true">{signs[is] ?? "○"}</span> <Said text={is} />
    </span>
  );
}

const LEVELS = 8;

/** Returns the class of a reward's colour: the level of its place between the lowest and the highest. */
export function rewardClass(reward: number | null, low = 0, high = 1): string {
  if (reward === null) return "r-none";
  const place = high > low ? (reward - low) / (high - low) : 1;
  return `r-${Math.max(0, Math.min(LEVELS, Math.round(place * LEVELS)))}`;
}

/** Shows a reward as a number with a bar for its place between 0 and 1. */
export function Reward({ value }: { value: number | null }) {
  return (
    <span class="reward">
      <span class={`chip ${rewardClass(value)}`} aria-hidden="true" />
      <span class="reward-value">{real(value)}</span>
    </span>
  );
}

export interface Figure {
  name: string;
  value: string;
  title?: string;
  isBad?: boolean;
}

/** Shows figures in a row. */
export function FigureRow({ figures }: { figures: Figure[] }) {
  return (
    <dl class="figures">
      {figures.map((one) => (
        <div class={one.isBad ? "bad" : ""} title={one.title}>
          <dt>
            <Said text={one.name} />
          </dt>
          <dd>{one.value}</dd>
        </div>
      ))}
    </dl>
  );
}
