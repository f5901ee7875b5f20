/** Says which colour a token has. Positions that are masked take no part in a scale. */

import type { SampleTokens } from "../base/types";
import { real } from "../base/words";

export const COLOURS = ["mask", "logprob", "entropy", "ratio", "advantage", "version", "kind"] as const;
export type Colour = (typeof COLOURS)[number];

export const COLOUR_WORDS: Record<Colour, string> = {
  mask: "loss mask",
  logprob: "logprob",
  entropy: "entropy (trainer)",
  ratio: "trainer's logprob − recorded",
  advantage: "advantage",
  version: "version of the weights",
  kind: "kind of span",
};

export interface LegendEntry {
  class: string;
  words: string;
}

export interface Scale {
  /** Class of each token; "" for none. */
  classes: string[];
  legend: LegendEntry[];
  /** Whether the legend is a ramp, of which only the ends have words. */
  isRamp: boolean;
}

const STEPS = 8;
const PROMPT = "prompt";

/** Returns the colours that a sample has values for. */
export function coloursOf(sample: SampleTokens): Colour[] {
  const { annotations } = sample;
  const has: Record<Colour, boolean> = {
    mask: true,
    logprob: sample.logprobs.some((value) => value !== null),
    entropy: Boolean(annotations.entropy),
    ratio: Boolean(annotations.logprob),
    advantage: Boolean(annotations.advantage),
    version: sample.versions.some((value) => value !== null),
    kind: sample.spans.length > 0,
  };
  return COLOURS.filter((one) => has[one]);
}

/** Returns the trainer's logprob of each token less the recorded one. */
export function differences(sample: SampleTokens): (number | null)[] {
  const noted = sample.annotations.logprob ?? [];
  return sample.logprobs.map((recorded, place) => {
    const value = noted[place] ?? null;
    return recorded === null || value === null ? null : value - recorded;
  });
}

export function kindOf(sample: SampleTokens, place: number): string {
  const span = sample.spans[sample.kinds[place] ?? -1];
  if (!span) return "outside of spans";
  return span.generated ? `generated, ${span.kind ?? "plain"}` : PROMPT;
}

export function scaleOf(sample: SampleTokens, colour: Colour): Scale {
  const isOpen = (place: number) => sample.loss_mask[place] === 1;
  const unmasked = (values: (number | null)[]) => values.map((value, place) => (isOpen(place) ? value : null));
  if (colour === "logprob") return oneSided(unmasked(sample.logprobs), true);
  if (colour === "entropy") return oneSided(unmasked(sample.annotations.entropy ?? []), false);
  if (colour === "ratio") return twoSided(unmasked(differences(sample)));
  if (colour === "advantage") return twoSided(unmasked(sample.annotations.advantage ?? []));
  if (colour === "version") return named(sample.versions.map((value, place) => (isOpen(place) && value !== null ? `version ${value}` : null)));
  if (colour === "kind") return named(sample.token_ids.map((_, place) => kindOf(sample, place)));
  return {
    classes: sample.loss_mask.map((mask) => (mask === 1 ? "open" : "")),
    legend: [{ class: "open", words: "trained on (mask 1)" }, { class: "", words: "given (mask 0)" }],
    isRamp: false,
  };
}

/** Returns the value below which the given share of the values is. */
function quantile(values: number[], part: number): number {
  return values[Math.min(values.length - 1, Math.max(0, Math.round(part * (values.length - 1))))] ?? 0;
}

const sorted = (values: (number | null)[]) => values.filter((value) => value !== null).sort((a, b) => a - b);

/** Colours the distance from 0, up to where 98% of the values are. */
function oneSided(values: (number | null)[], isNegative: boolean): Scale {
  const known = sorted(values.map((value) => (value === null ? null : Math.abs(value))));
  const far = quantile(known, 0.98) || 1;
  const sign = isNegative ? -1 : 1;
  return {
    classes: values.map((value) => (value === null ? "" : `s-${Math.min(STEPS, Math.round((Math.abs(value) / far) * STEPS))}`)),
    legend: Array.from({ length: STEPS + 1 }, (_, step) => ({
      class: `s-${step}`,
      words: step === 0 ? "0" : step === STEPS ? `${real(sign * far, 2)} and beyond` : "",
    })),
    isRamp: true,
  };
}

/** Colours what is below 0 and above it, to both sides as far as 98% of the values are. */
function twoSided(values: (number | null)[]): Scale {
  const known = sorted(values.map((value) => (value === null ? null : Math.abs(value))));
  const far = Math.max(quantile(known, 0.98), 1e-4);
  const half = STEPS / 2;
  const step = (value: number) => Math.max(-half, Math.min(half, Math.round((value / far) * half))) + half;
  return {
    classes: values.map((value) => (value === null ? "" : `d-${step(value)}`)),
    legend: Array.from({ length: STEPS + 1 }, (_, place) => ({
      class: `d-${place}`,
      words: place === 0 ? real(-far, 4) : place === half ? "0" : place === STEPS ? `+${real(far, 4)}` : "",
    })),
    isRamp: true,
  };
}

function named(names: (string | null)[]): Scale {
  const found = [...new Set(names.filter((name) => name !== null))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const coloured = found.filter((name) => name !== PROMPT);
  const classes = new Map([[PROMPT, "n-given"], ...coloured.map((name, place): [string, string] => [name, `n-${place % 8}`])]);
  return {
    classes: names.map((name) => (name === null ? "" : classes.get(name)!)),
    legend: found.slice(0, 24).map((name) => ({ class: classes.get(name)!, words: name })),
    isRamp: false,
  };
}
