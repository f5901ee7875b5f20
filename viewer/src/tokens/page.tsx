/** Shows a sample as exactly what the model saw. */

import { useMemo, useState } from "preact/hooks";
import { change, changed, episodeHref, go, href, selectionOf } from "../base/address";
import { useKeys } from "../base/keys";
import { api, useLoaded } from "../base/server";
import type { Episode, SampleTokens } from "../base/types";
import { many, whole } from "../base/words";
import { Link } from "../parts/link";
import { Problem } from "../parts/notice";
import { Said } from "../parts/text";
import { Flow } from "./flow";
import { Inspector } from "./inspector";
import { COLOUR_WORDS, coloursOf, scaleOf, type Colour, type Scale } from "./scales";

interface PageProps {
  run: string;
  episode: string;
  sample: number;
  query: URLSearchParams;
}

/** Returns the texts of a sample's tokens, and which of them are control tokens. */
function useTexts(sample: SampleTokens | null): { texts: string[]; isControl: boolean[] } {
  return useMemo(() => {
    if (!sample) return { texts: [], isControl: [] };
    const control = new Set(sample.control);
    const words = sample.vocabulary;
    const texts = sample.token_ids.map((id) => (words ? (words[id] ?? `[${id}]`) : `${id} `));
    return { texts, isControl: sample.token_ids.map((id) => control.has(id)) };
  }, [sample]);
}

/** Returns the starts of the spans that were generated. */
const generatedStarts = (sample: SampleTokens): number[] => sample.spans.filter((span) => span.generated).map((span) => span.start);

/** Returns the number of ids with which both samples begin. */
function commonPrefix(a: number[], b: number[]): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  return at;
}

export function TokensPage({ run, episode, sample: number, query }: PageProps) {
  const at = `/episodes/${encodeURIComponent(episode)}`;
  const { value: read } = useLoaded<Episode>(api(run, at));
  const { value: sample, error, reload } = useLoaded<SampleTokens>(api(run, `${at}/samples/${number}`));
  const besideText = query.get("beside");
  const beside = besideText !== null && /^\d+$/.test(besideText) && Number(besideText) !== number ? Number(besideText) : null;
  const other = useLoaded<SampleTokens>(beside === null ? null : api(run, `${at}/samples/${beside}`));
  const { texts, isControl } = useTexts(sample);
  const otherTexts = useTexts(other.value);
  const colours = sample ? coloursOf(sample) : [];
  const colour = colours.find((one) => one === query.get("colour")) ?? (colours.includes("logprob") ? "logprob" : "mask");
  const scale = useMemo(() => (sample ? scaleOf(sample, colour) : null), [sample, colour]);
  const otherScale = useMemo(() => (other.value ? scaleOf(other.value, colour) : null), [other.value, colour]);
  const common = sample && other.value ? commonPrefix(sample.token_ids, other.value.token_ids) : 0;
  const isFolded = beside !== null && query.get("same") !== "shown";
  const from = isFolded ? common : 0;
  const [hovered, hover] = useState<{ side: 0 | 1; place: number } | null>(null);
  const current = query.has("at") ? Number(query.get("at")) : null;
  const selection = selectionOf(query);
  const pick = (place: number) => sample && change({ at: Math.max(0, Math.min(sample.token_ids.length - 1, place)) }, true);
  const jump = (by: 1 | -1) => {
    if (!sample) return;
    const here = current ?? -1;
    const starts = generatedStarts(sample);
    const next = by > 0 ? starts.find((start) => start > here) : starts.findLast((start) => start < here);
    if (next !== undefined) pick(next);
  };
  const recolour = (by: number) => change({ colour: colours[(colours.indexOf(colour) + by + colours.length) % colours.length]! }, true);
  useKeys([
    { keys: ["Escape", "t"], does: "back to the episode", run: () => go(href(episodeHref(run, episode), selection)) },
    { keys: ["j", "n", "ArrowDown"], does: "next generated span", run: () => jump(1) },
    { keys: ["k", "p", "ArrowUp"], does: "generated span before", run: () => jump(-1) },
    { keys: ["ArrowRight", "l"], does: "next token", run: () => pick((current ?? -1) + 1) },
    { keys: ["ArrowLeft", "h"], does: "token before", run: () => pick((current ?? 1) - 1) },
    { keys: ["c"], does: "next colouring", run: () => recolour(1) },
  ]);
  if (error || !sample || !scale)
    return (
      <div class="page">
        <Problem error={error} again={reload} />
        {!error && <p class="quiet">loading the tokens …</p>}
      </div>
    );
  const looked = hovered ?? (current === null ? null : { side: 0 as const, place: current });
  const isOther = looked?.side === 1 && other.value !== null;
  return (
    <div class="page fixed tokens">
      <div class="tools">
        <SampleLinks run={run} id={episode} episode={read} sample={number} beside={beside} query={query} />
        <label class="choice">
          colour{" "}
          <select value={colour} onChange={(event) => change({ colour: event.currentTarget.value }, true)}>
            {colours.map((one) => (
              <option value={one}>{COLOUR_WORDS[one]}</option>
            ))}
          </select>
        </label>
        <Legend scale={scale} />
        <span class="push" />
        <span class="quiet">
          {many(sample.token_ids.length, "token")}, {whole(sample.loss_mask.filter((one) => one === 1).length)} trained on
        </span>
        <button type="button" onClick={() => jump(-1)} title="Generated span before (k)">
          ‹ span
        </button>
        <button type="button" onClick={() => jump(1)} title="Next generated span (j)">
          span ›
        </button>
      </div>
      {!sample.vocabulary && (
        <div class="notice warn">The tokenizer's file is not on this machine, so tokens are shown by their ids. Put its tokenizer.json where the run's config names the model.</div>
      )}
      <Problem error={other.error} again={other.reload} />
      {beside !== null && other.value && (
        <p class="line same">
          <span>The first {many(common, "token")} are the same.</span>
          <button type="button" onClick={() => change({ same: isFolded ? "shown" : null }, true)}>
            {isFolded ? "show" : "fold"} what is the same
          </button>
          <span class="quiet">
            Sample {beside} forked: <Said text={read?.samples[beside]?.fork_reason ?? read?.samples[number]?.fork_reason ?? "–"} />
          </span>
        </p>
      )}
      <div class="token-panes">
        <Flow
          key={`a${from}`}
          name={`Tokens of sample ${number}`}
          texts={texts}
          isControl={isControl}
          scale={scale}
          from={from}
          current={current}
          hover={(place) => hover(place === null ? null : { side: 0, place })}
          pick={pick}
        />
        {other.value && otherScale && (
          <Flow
            key={`b${from}`}
            name={`Tokens of sample ${beside}`}
            texts={otherTexts.texts}
            isControl={otherTexts.isControl}
            scale={otherScale}
            from={from}
            current={null}
            hover={(place) => hover(place === null ? null : { side: 1, place })}
            pick={() => undefined}
          />
        )}
        <Inspector
          run={run}
          episode={episode}
          query={query}
          sample={isOther ? other.value! : sample}
          text={looked ? (isOther ? otherTexts.texts : texts)[looked.place] : undefined}
          place={looked?.place ?? null}
        />
      </div>
    </div>
  );
}

function Legend({ scale }: { scale: Scale }) {
  return (
    <span class={scale.isRamp ? "legend is-ramp" : "legend"} aria-label="Legend">
      {scale.legend.map((entry) => (
        <span class="legend-entry">
          <span class={`square ${entry.class}`} />
          {entry.words}
        </span>
      ))}
    </span>
  );
}

interface LinksProps {
  run: string;
  id: string;
  episode: Episode | null;
  sample: number;
  beside: number | null;
  query: URLSearchParams;
}

/** Links to the other samples of the episode, and sets one beside this one. */
function SampleLinks({ run, id, episode, sample, beside, query }: LinksProps) {
  const samples = episode?.samples ?? [];
  if (samples.length < 2) return null;
  const kept = changed(selectionOf(query), { colour: query.get("colour") as Colour | null });
  return (
    <nav class="samples" aria-label="Samples">
      {samples.map((one, number) => (
        <span class="sample-pair">
          <Link
            to={href(`${episodeHref(run, id)}/sample/${number}`, kept)}
            class="sample"
            aria-current={number === sample ? "page" : undefined}
            title={one.fork_reason ? `fork: ${one.fork_reason}` : one.thread}
          >
            {number} <Said text={one.thread} />
          </Link>
          {number !== sample && (
            <button type="button" class="plain" aria-pressed={beside === number} onClick={() => change({ beside: beside === number ? null : number })}>
              beside
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}
