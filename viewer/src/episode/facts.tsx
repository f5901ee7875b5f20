/** Shows what an episode was played from: its task, the tools that prompts showed, its samples, and its numbers. */

import { episodeHref, href, selectionOf } from "../base/address";
import type { Episode } from "../base/types";
import { moment, real, seconds, whole } from "../base/words";
import { Fold } from "../parts/fold";
import { Link } from "../parts/link";
import { LongText, Said } from "../parts/text";

interface FactsProps {
  run: string;
  episode: Episode;
  query: URLSearchParams;
}

const laidOut = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "null");

export function Facts({ run, episode, query }: FactsProps) {
  const usage = Object.entries(episode.usage ?? {});
  const timing = Object.entries(episode.timing ?? {});
  const facts: [string, string][] = [
    ["episode", episode.episode_id],
    ["task", episode.task_id ?? "–"],
    ["group", episode.group_id ?? "–"],
    ["repeat", String(episode.repeat)],
    ["try, attempt", `${episode.try}, ${episode.attempt}`],
    ["environment", episode.env_id],
    ["seed", String(episode.seed)],
    ["stop", `${episode.stop_reason ?? "–"}${episode.stop_text ? `: ${episode.stop_text}` : ""}`],
    ["started", moment(episode.started_at)],
    ...usage.map(([name, value]): [string, string] => [name.replaceAll("_", " "), whole(value)]),
    ...timing.map(([name, value]): [string, string] => [name.replace("_s", " time"), seconds(value)]),
  ];
  return (
    <div class="facts">
      <Samples run={run} episode={episode} query={query} />
      <Fold title="task">{() => <LongText text={laidOut(episode.task)} mono />}</Fold>
      <ToolsShown shown={episode.tools_shown} />
      <Fold title="numbers">
        {() => (
          <dl class="numbers">
            {facts.map(([name, value]) => (
              <div>
                <dt>{name}</dt>
                <dd>
                  <Said text={value} />
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Fold>
    </div>
  );
}

function Samples({ run, episode, query }: FactsProps) {
  if (!episode.samples.length) return <span class="quiet">no samples: its models gave no tokens</span>;
  return (
    <nav class="samples" aria-label="Samples">
      <span class="quiet">tokens</span>
      {episode.samples.map((sample, number) => (
        <Link
          to={href(`${episodeHref(run, episode.episode_id)}/sample/${number}`, selectionOf(query))}
          class="sample"
          title={`${whole(sample.tokens)} tokens, ${whole(sample.generated)} generated; ${sample.trainable ? "trainable" : "not trainable"}; reward ${real(sample.reward)}`}
        >
          <Said text={sample.thread} /> {whole(sample.tokens)}
          {sample.fork_reason && (
            <span class="fork">
              {" "}
              fork: <Said text={sample.fork_reason} />
            </span>
          )}
          {!sample.trainable && <span class="quiet"> not trained on</span>}
        </Link>
      ))}
    </nav>
  );
}

interface ShownTool {
  function?: { name?: string; description?: string; parameters?: unknown };
  name?: string;
}

function ToolsShown({ shown }: { shown: unknown }) {
  if (shown === null || typeof shown !== "object") return <span class="quiet">tools were not recorded</span>;
  const threads = Object.entries(shown as Record<string, ShownTool[]>).filter(([, tools]) => Array.isArray(tools) && tools.length);
  if (!threads.length) return <span class="quiet">no tools</span>;
  const count = threads.reduce((sum, [, tools]) => sum + tools.length, 0);
  return (
    <Fold title={`tools shown (${count})`}>
      {() =>
        threads.map(([thread, tools]) => (
          <div>
            <h3>
              <Said text={thread} />
            </h3>
            {tools.map((tool) => (
              <Fold
                title={
                  <>
                    <code class="tool">
                      <Said text={tool.function?.name ?? tool.name ?? "tool"} />
                    </code>
                    <span class="quiet one-line">
                      <Said text={tool.function?.description ?? ""} />
                    </span>
                  </>
                }
              >
                {() => <LongText text={laidOut(tool.function ?? tool)} mono />}
              </Fold>
            ))}
          </div>
        ))
      }
    </Fold>
  );
}
