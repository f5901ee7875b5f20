/** Shows the runs of a folder: their figures, and curves over them in order. */

import { useEffect, useRef, useState } from "preact/hooks";
import { change, go, href, runHref } from "../base/address";
import { useKeys } from "../base/keys";
import { useLoaded } from "../base/server";
import type { ListedRun, Runs } from "../base/types";
import { age, bytes, moment, share, whole } from "../base/words";
import { Link } from "../parts/link";
import { Problem } from "../parts/notice";
import { Reward, Status } from "../parts/state";
import { Said } from "../parts/text";
import { RunCurves } from "./curves";

export function RunsPage({ query }: { query: URLSearchParams }) {
  const { value, error, reload } = useLoaded<Runs>("/api/runs", (runs) => runs.runs.some((run) => run.state === "live"));
  const only = value && value.folder === null && value.runs.length === 1 ? value.runs[0]! : null;
  useEffect(() => {
    if (only) go(runHref(only.name), true);
  }, [only?.name]);
  if (!value || only)
    return (
      <div class="page">
        <Problem error={error} again={reload} />
        {!error && <p class="quiet">looking for runs …</p>}
      </div>
    );
  const wanted = (query.get("q") ?? "").toLowerCase();
  const shown = value.runs.filter((run) => `${run.name} ${run.state}`.toLowerCase().includes(wanted));
  return (
    <div class="page scrolled">
      <Problem error={error} again={reload} />
      <div class="title">
        <h1>Runs</h1>
        <span class="quiet">
          <Said text={value.folder ?? "as they were named"} />
        </span>
      </div>
      <RunCurves runs={shown} />
      <RunTable runs={shown} of={value.runs.length} wanted={query.get("q") ?? ""} />
    </div>
  );
}

function RunTable({ runs, of, wanted }: { runs: ListedRun[]; of: number; wanted: string }) {
  const [active, setActive] = useState(0);
  const [marked, mark] = useState<string[]>([]);
  const search = useRef<HTMLInputElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (by: number) => {
    const to = Math.max(0, Math.min(runs.length - 1, active + by));
    setActive(to);
    body.current?.rows[to]?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { keys: ["j", "ArrowDown"], does: "next run", run: () => move(1) },
    { keys: ["k", "ArrowUp"], does: "run before", run: () => move(-1) },
    { keys: ["Enter"], does: "open the run", run: () => runs[active] && go(runHref(runs[active].name)) },
    { keys: ["/"], does: "search runs", run: () => search.current?.focus() },
  ]);
  const toggle = (name: string) =>
    mark(marked.includes(name) ? marked.filter((one) => one !== name) : [...marked, name].slice(-2));
  return (
    <>
      <div class="tools">
        <input
          ref={search}
          type="search"
          placeholder="Search runs"
          aria-label="Search runs"
          value={wanted}
          onInput={(event) => change({ q: event.currentTarget.value }, true)}
        />
        <span class="quiet">{runs.length === of ? `${whole(of)} runs` : `${whole(runs.length)} of ${whole(of)} runs`}</span>
        <span class="push" />
        <button
          type="button"
          disabled={marked.length !== 2}
          title="Mark two runs to compare them"
          onClick={() => go(href("/compare", { a: marked[0]!, b: marked[1]! }))}
        >
          Compare {marked.length === 2 ? "the two marked" : `(${marked.length} of 2 marked)`}
        </button>
      </div>
      <table class="plain-table runs">
        <thead>
          <tr>
            <th scope="col" class="narrow">
              <span class="hidden">mark</span>
            </th>
            <th scope="col">run</th>
            <th scope="col">state</th>
            <th scope="col" class="number">
              episodes
            </th>
            <th scope="col" class="number">
              failed
            </th>
            <th scope="col">mean reward</th>
            <th scope="col" class="number wide">
              size
            </th>
            <th scope="col" class="number wide">
              age
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {runs.map((run, place) => (
            <RunRow run={run} isActive={place === active} isMarked={marked.includes(run.name)} toggle={() => toggle(run.name)} />
          ))}
        </tbody>
      </table>
      {!runs.length && <p class="quiet empty">No run has this in its name or state.</p>}
    </>
  );
}

interface RowProps {
  run: ListedRun;
  isActive: boolean;
  isMarked: boolean;
  toggle: () => void;
}

function RunRow({ run, isActive, isMarked, toggle }: RowProps) {
  const open = (event: MouseEvent) => {
    if (!(event.target as HTMLElement).closest("a, input, label")) go(runHref(run.name));
  };
  return (
    <tr class={isActive ? "active" : ""} aria-selected={isActive} onClick={open}>
      <td class="narrow">
        <input type="checkbox" checked={isMarked} onChange={toggle} aria-label={`Mark ${run.name} to compare it`} />
      </td>
      <td>
        <Link to={runHref(run.name)}>
          <Said text={run.name} />
        </Link>
        {run.problem && (
          <div class="problem">
            <Said text={run.problem} />
          </div>
        )}
      </td>
      <td>
        <Status is={run.state} />
      </td>
      <td class="number">
        {whole(run.episodes)}
        {run.planned !== null && run.planned !== run.episodes && <span class="quiet"> of {whole(run.planned)}</span>}
      </td>
      <td class={run.failed ? "number bad-text" : "number quiet"} title={share(run.failed, run.episodes)}>
        {whole(run.failed)}
      </td>
      <td>
        <Reward value={run.mean_reward} />
      </td>
      <td class="number wide">{bytes(run.size)}</td>
      <td class="number wide" title={moment(run.changed)}>
        {age(run.changed)}
      </td>
    </tr>
  );
}
