/** Shows what is always in sight of an episode: status, failure, reward, and the way to others. */

import { changed, episodeHref, href, selectionOf } from "../base/address";
import type { Episode, EpisodeRow, Neighbours } from "../base/types";
import { real, seconds, whole } from "../base/words";
import { Fold } from "../parts/fold";
import { Link } from "../parts/link";
import { Reward, rewardClass, Status } from "../parts/state";
import { Said } from "../parts/text";
import { withSigns } from "../parts/visible";

interface HeaderProps {
  run: string;
  episode: Episode;
  query: URLSearchParams;
  neighbours: Neighbours | null;
  of: number | null;
  siblings: EpisodeRow[];
}

export function EpisodeHeader({ run, episode, query, neighbours, of, siblings }: HeaderProps) {
  const selection = selectionOf(query);
  const kept = changed(selection, { view: query.get("view"), seen: query.get("seen") });
  const to = (id: string) => href(episodeHref(run, id), kept);
  const parts = (episode.rewards ?? []).filter((one) => one.name !== "reward" || one.participant !== "policy");
  return (
    <div class="episode-head">
      <div class="line">
        <h1 class="hidden">Episode {episode.episode_id}</h1>
        <Status is={episode.status} />
        <span class="big">
          <Reward value={episode.reward} />
        </span>
        {parts.map((one) => (
          <span class="quiet">
            <Said text={one.participant === "policy" ? one.name : `${one.participant} ${one.name}`} /> {real(one.value)}
          </span>
        ))}
        <span title={withSigns(episode.stop_text ?? "")}>
          stop{" "}
          <b>
            <Said text={episode.stop_reason ?? "–"} />
          </b>
        </span>
        <span class="quiet">
          {whole(episode.turns)} turns · {whole(episode.usage?.generated_tokens ?? 0)} tokens · {seconds(episode.timing?.active_s)}
        </span>
        <span class="push" />
        <nav class="steps" aria-label="Episodes of the list">
          {neighbours?.previous ? <Link to={to(neighbours.previous)} title="Episode before ([)">‹ before</Link> : <span class="quiet">‹ before</span>}
          {neighbours && neighbours.at !== null && <span class="quiet">{whole(neighbours.at + 1)}{of !== null && ` of ${whole(of)}`}</span>}
          {neighbours?.next ? <Link to={to(neighbours.next)} title="Next episode (])">next ›</Link> : <span class="quiet">next ›</span>}
        </nav>
      </div>
      {episode.failure && (
        <div class="notice bad">
          <b>
            <Said text={episode.failure.kind} />
          </b>
          {episode.failure.where && (
            <span class="quiet">
              {" "}
              in <Said text={episode.failure.where} />
            </span>
          )}
          : <Said text={episode.failure.message} />
          {episode.traceback && (
            <Fold title="traceback">
              {() => (
                <pre>
                  <Said text={episode.traceback!} />
                </pre>
              )}
            </Fold>
          )}
        </div>
      )}
      {siblings.length > 1 && (
        <div class="line">
          <nav class="siblings" aria-label="Episodes of the group">
            <span class="quiet">group</span>
            {siblings.map((one) => (
              <Link
                to={to(one.episode_id)}
                class={`sibling ${one.status === "completed" ? rewardClass(one.reward as number | null) : "failed"}`}
                aria-current={one.episode_id === episode.episode_id ? "page" : undefined}
                title={withSigns(`repeat ${one.repeat}: ${one.status}, reward ${real(one.reward as number | null)}`)}
                aria-label={withSigns(`repeat ${one.repeat}: ${one.status}, reward ${real(one.reward as number | null)}`)}
              >
                {String(one.repeat)}
              </Link>
            ))}
          </nav>
          <span class="quiet task-name">
            task <Said text={episode.task_id ?? "–"} />
          </span>
        </div>
      )}
    </div>
  );
}
