/** Says all about one token. */

import { episodeHref, href, selectionOf } from "../base/address";
import type { SampleTokens } from "../base/types";
import { real, whole } from "../base/words";
import { Link } from "../parts/link";
import { Said } from "../parts/text";
import { kindOf } from "./scales";

interface InspectorProps {
  run: string;
  episode: string;
  query: URLSearchParams;
  sample: SampleTokens;
  text: string | undefined;
  place: number | null;
}

export function Inspector({ run, episode, query, sample, text, place }: InspectorProps) {
  if (place === null || text === undefined)
    return (
      <aside class="inspector" aria-label="Token">
        <p class="quiet">Point at a token, or move with ← and →.</p>
      </aside>
    );
  const id = sample.token_ids[place]!;
  const logprob = sample.logprobs[place] ?? null;
  const { annotations } = sample;
  const noted = annotations.logprob?.[place] ?? null;
  const span = sample.spans[sample.kinds[place] ?? -1];
  const facts: [string, string][] = [
    ["position", `${whole(place)} of ${whole(sample.token_ids.length)}`],
    ["id", String(id)],
    ["mask", sample.loss_mask[place] === 1 ? "1, trained on" : "0, given"],
    ["span", kindOf(sample, place)],
  ];
  if (logprob !== null) facts.push(["logprob", real(logprob, 5)], ["probability", real(Math.exp(logprob), 5)]);
  if (sample.versions[place] !== null) facts.push(["version", String(sample.versions[place])]);
  if (noted !== null) facts.push(["trainer's logprob", real(noted, 5)]);
  if (noted !== null && logprob !== null) facts.push(["ratio", real(Math.exp(noted - logprob), 5)]);
  for (const name of ["entropy", "advantage"] as const) {
    const value = annotations[name]?.[place] ?? null;
    if (value !== null) facts.push([name, real(value, 5)]);
  }
  const sampling = Object.entries(span?.sampling ?? {}).filter(([, value]) => value !== null);
  return (
    <aside class="inspector" aria-label="Token" aria-live="polite">
      <code class="inspected">
        <Said text={JSON.stringify(text)} />
      </code>
      <dl class="numbers">
        {facts.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {span && span.event_seq !== null && (
        <p>
          <Link to={href(episodeHref(run, episode), new URLSearchParams([...selectionOf(query), ["event", String(span.event_seq)]]))}>
            event {span.event_seq}
          </Link>
        </p>
      )}
      {sampling.length > 0 && (
        <p class="quiet sampling">
          <Said text={sampling.map(([name, value]) => `${name} ${value}`).join(", ")} />
        </p>
      )}
    </aside>
  );
}
