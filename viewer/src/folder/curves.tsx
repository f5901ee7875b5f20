/** Draws the figures of runs in order, or of one run by the version of its weights. */

import { useEffect, useState } from "preact/hooks";
import { change, go, runHref } from "../base/address";
import { api, get, REFRESH_MS, useLoaded } from "../base/server";
import type { EpisodePage, Figures, ListedRun, VersionFigures } from "../base/types";
import { Chart } from "../parts/chart";
import { Problem } from "../parts/notice";

/** What the record itself can say of staleness: a trainer's own curves also know of updates that played nothing. */
const STALENESS = "versions behind the newest, when committed";
/** Most runs whose figures are asked for: the server reads each of these runs. */
const MOST_READ = 40;

/** Returns the figures of a run, once the server has read the run. */
async function figuresOf(run: string, signal: AbortSignal): Promise<Figures> {
  for (;;) {
    const page = await get<EpisodePage>(api(run, "/episodes?limit=1"), signal);
    if (!page.waiting) return page.figures;
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS / 4));
  }
}

/** Returns figures by run, as the answers come. */
function useFigures(runs: ListedRun[]): Map<string, Figures> {
  const [found, set] = useState<Map<string, Figures>>(new Map());
  const names = runs.filter((run) => run.state !== "damaged").map((run) => run.name);
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      for (const name of names.slice(0, MOST_READ)) {
        if (found.has(name)) continue;
        const figures = await figuresOf(name, stop.signal);
        set((before) => new Map(before).set(name, figures));
      }
    };
    read().catch(() => undefined); // the curve has no value there
    return () => stop.abort();
  }, [names.join("/")]);
  return found;
}

/** Draws reward, failures and tokens of a folder's runs, in the order of their names. */
export function RunCurves({ runs }: { runs: ListedRun[] }) {
  const figures = useFigures(runs);
  if (runs.length < 2) return null;
  const x = runs.map((_, place) => place);
  const word = (at: number) => runs[at]?.name ?? "";
  const open = (at: number) => runs[at] && go(runHref(runs[at].name));
  const of = (figure: (figures: Figures) => number | null) => runs.map((run) => (figures.has(run.name) ? figure(figures.get(run.name)!) : null));
  const staleness = of((one) => one.mean_staleness);
  const failed = runs.map((run) => (run.episodes ? run.failed / run.episodes : null));
  return (
    <section class="charts" aria-label="Curves over the runs">
      <Chart title="mean reward" x={x} word={word} open={open} bounds={[0, 1]} curve={{ name: "reward", values: runs.map((run) => run.mean_reward) }} />
      <Chart title="share of failed episodes" x={x} word={word} open={open} curve={{ name: "failed", values: failed }} />
      <Chart title="generated tokens an episode" x={x} word={word} open={open} curve={{ name: "tokens", values: of((one) => one.mean_tokens) }} />
      {staleness.some(Boolean) && <Chart title={STALENESS} x={x} word={word} open={open} curve={{ name: "staleness", values: staleness }} />}
    </section>
  );
}

/** Draws the figures of a run by the version of the weights that began an episode. */
export function VersionCurves({ run, episodes }: { run: string; episodes: number | null }) {
  const { value, error, reload } = useLoaded<VersionFigures[]>(api(run, "/versions"), () => false, episodes);
  if (error) return <Problem error={error} again={reload} />;
  const rows = (value ?? []).filter((row) => row.version !== null);
  if (!value) return <p class="quiet empty">reading the run …</p>;
  if (!rows.length) return <p class="quiet empty">No episode of this run has a version of the weights: its models gave no tokens.</p>;
  const x = rows.map((row) => row.version!);
  const word = (at: number) => `version ${at}`;
  const open = (at: number) => change({ tab: null, f: [`version=${at}`] });
  const series: [string, (row: VersionFigures) => number | null, [number, number]?][] = [
    ["mean reward", (row) => row.mean_reward, [0, 1]],
    ["share of failed episodes", (row) => row.failed / row.episodes],
    ["generated tokens an episode", (row) => row.mean_tokens],
    ["turns an episode", (row) => row.mean_turns],
    [STALENESS, (row) => row.mean_staleness],
    ["episodes", (row) => row.episodes],
  ];
  return (
    <section class="charts" aria-label="Curves by version of the weights">
      {series.filter(([title, of]) => title !== STALENESS || rows.some(of)).map(([title, of, bounds]) => (
        <Chart title={title} x={x} word={word} open={open} bounds={bounds} curve={{ name: title, values: rows.map(of) }} />
      ))}
    </section>
  );
}
