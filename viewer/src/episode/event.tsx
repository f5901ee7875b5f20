/** Shows one event: what was said, thought, called and answered. */

import { memo } from "../base/memo";
import { api, get } from "../base/server";
import type { Call, Event, Picture } from "../base/types";
import { real, seconds } from "../base/words";
import { Fold } from "../parts/fold";
import { pretty } from "../parts/json";
import { LongText, Said } from "../parts/text";
import { kindWords, textOf } from "./lanes";
import { PictureFrame } from "./picture";

/** Most characters of a result in JSON that is shown without being opened. */
const SHORT = 240;

interface EventProps {
  run: string;
  episode: string;
  event: Event;
  /** Names of tools by the ids of their calls. */
  calls: ReadonlyMap<string, string>;
  /** Text of the message that a relay tells, if it tells just that. */
  isRepeated?: boolean | undefined;
  /** Pictures of the state that came of the event, by their number in the episode. */
  pictures?: ReadonlyMap<number, Picture> | undefined;
}

/** Shows an event. It is drawn anew only when it is another one. */
export const EventCard = memo(function EventCard({ run, episode, event, calls, isRepeated = false, pictures }: EventProps) {
  const text = textOf(event);
  const load = () => get<Event>(api(run, `/episodes/${encodeURIComponent(episode)}/events/${event.seq}`));
  const whole = (part: number) => async () => (await load()).content?.[part]?.text ?? "";
  const tool = event.kind === "tool_result" && event.tool_call_id ? calls.get(event.tool_call_id) : undefined;
  const isJson = event.kind === "tool_result" && pretty(text).isJson;
  return (
    <>
      <div class="event-head">
        <span class="kind">{kindWords(event)}</span>
        {tool && <code class="tool"><Said text={tool} /></code>}
        {event.reward !== null && <span class="verdict">{real(event.reward)}</span>}
        {event.thread && event.thread !== event.participant && !["judge", "relay"].includes(event.kind) && <span class="quiet"><Said text={event.thread} /></span>}
        {event.finish_reason && event.finish_reason !== "stop" && <span class="quiet"><Said text={event.finish_reason} /></span>}
        <span class="push" />
        {Boolean(event.duration_s) && <span class="quiet">{seconds(event.duration_s)}</span>}
        <span class="quiet seq">{event.seq}</span>
      </div>
      {event.reasoning && (
        <Fold title={<span class="quiet">thought · {event.reasoning.length.toLocaleString("en")} characters</span>}>
          {() => <LongText text={event.reasoning!} cut={event.cut} whole={async () => (await load()).reasoning ?? ""} />}
        </Fold>
      )}
      {isRepeated ? (
        <Fold title={<span class="quiet one-line"><Said text={text.slice(0, 160)} /></span>}>{() => <LongText text={text} />}</Fold>
      ) : (
        event.content?.map((part, place) =>
          part.type !== "text" && !part.text ? (
            <p class="quiet">
              <Said text={`[${part.type}]`} />
            </p>
          ) : isJson && part.text!.length > SHORT ? (
            <Fold title={<span class="quiet one-line mono"><Said text={part.text!.slice(0, 160)} /></span>}>
              {() => <LongText text={pretty(part.text!).text} mono cut={part.cut} whole={whole(place)} />}
            </Fold>
          ) : (
            <LongText text={part.text ?? ""} cut={part.cut} whole={whole(place)} mono={event.kind === "tool_result"} />
          ),
        )
      )}
      {event.tool_calls?.map((call, place) => (
        <CallView call={call} whole={async () => (await load()).tool_calls?.[place]?.arguments ?? ""} />
      ))}
      {event.error && (
        <p class="problem">
          <Said text={event.error} />
        </p>
      )}
      {pictures && [...pictures].map(([number, one]) => <PictureFrame run={run} episode={episode} number={number} picture={one} />)}
    </>
  );
});

function CallView({ call, whole }: { call: Call; whole: () => Promise<string> }) {
  const given = call.arguments ?? "";
  const { text, isJson } = pretty(given);
  const title = (
    <>
      <code class="tool">
        <Said text={call.name} />
      </code>
      <span class="quiet one-line mono">
        <Said text={given.slice(0, 160)} />
      </span>
      {!isJson && given && !call.cut && <span class="bad-text">no JSON</span>}
    </>
  );
  return (
    <div class="call">
      <Fold title={title}>
        {() => <LongText text={text} mono cut={call.cut} whole={whole} />}
      </Fold>
    </div>
  );
}
