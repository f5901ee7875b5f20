/** Sets two runs beside each other: figures, tasks, and the episodes of one task. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { change, go } from "../base/address";
import { useKeys } from "../base/keys";
import { ServerError, useLoaded } from "../base/server";
import type { Runs } from "../base/types";
import { many, signed, whole } from "../base/words";
import { Beside } from "../episode/beside";
import { Problem } from "../parts/notice";
import { Reward } from "../parts/state";
import { Said } from "../parts/text";
import { DifferenceTable, FigureTable } from "./figures";
import { pairsOf, SOLVED, tasksOf, type TaskFigures, type TaskPair } from "./tasks";

/** Most tasks that are listed. */
const MOST = 200;

function useTasks(run: string): { tasks: Map<string, TaskFigures> | null; error: ServerError | null } {
  const [state, set] = useState<{ run: string; tasks: Map<string, TaskFigures> | null; error: ServerError | null }>({ run, tasks: null, error: null });
  useEffect(() => {
    if (!run) return;
    const stop = new AbortController();
    tasksOf(run, stop.signal).then(
      (tasks) => set({ run, tasks, error: null }),
      (error: unknown) => {
        if (!stop.signal.aborted) set({ run, tasks: null, error: error instanceof ServerError ? error : new ServerError(String(error), 0) });
      },
    );
    return () => stop.abort();
  }, [run]);
  return state.run === run ? state : { tasks: null, error: null };
}

export function ComparePage({ query }: { query: URLSearchParams }) {
  const runs = useLoaded<Runs>("/api/runs");
  const names = runs.value?.runs.map((run) => run.name) ?? [];
  const a = query.get("a") ?? names[0] ?? "";
  const b = query.get("b") ?? names.find((name) => name !== a) ?? "";
  const [ofA, ofB] = [useTasks(a), useTasks(b)];
  const pairs = useMemo(() => (ofA.tasks && ofB.tasks ? pairsOf(ofA.tasks, ofB.tasks) : null), [ofA.tasks, ofB.tasks]);
  const read = [a, b].map((name) => runs.value?.runs.find((run) => run.name === name)?.episodes ?? 0).join();
  const onlyFlipped = query.get("only") === "flipped";
  const task = query.get("task");
  const chosen = pairs?.find((pair) => pair.task === task);
  useKeys([{ keys: ["Escape"], does: "back", run: () => (task ? change({ task: null }) : go("/")) }]);
  const shown = (pairs ?? []).filter((pair) => !onlyFlipped || pair.hasFlipped);
  return (
    <div class="page scrolled">
      <div class="tools">
        <RunChoice name="a" label="A" value={a} names={names} />
        <RunChoice name="b" label="B" value={b} names={names} />
      </div>
      <Problem error={runs.error ?? ofA.error ?? ofB.error} again={runs.reload} />
      {a && b && (
        <div class="compare-tables">
          <FigureTable a={a} b={b} />
          <DifferenceTable a={a} b={b} files={read} />
        </div>
      )}
      {chosen && <TaskBeside a={a} b={b} pair={chosen} />}
      {!pairs && a && b && !(ofA.error ?? ofB.error) && <p class="quiet">reading both runs …</p>}
      {pairs && (
        <>
          <div class="tools">
            <h2>Tasks</h2>
            <span class="quiet">
              {many(pairs.length, "task")} in both, {whole(pairs.filter((pair) => pair.hasFlipped).length)} flipped (mean reward ≥ {SOLVED} in one run only)
            </span>
            <span class="push" />
            <label class="choice">
              <input type="checkbox" checked={onlyFlipped} onChange={() => change({ only: onlyFlipped ? null : "flipped" }, true)} /> flipped only
            </label>
          </div>
          <TaskTable pairs={shown.slice(0, MOST)} task={task} />
          {shown.length > MOST && <p class="quiet">the {MOST} tasks that differ most</p>}
          {!shown.length && <p class="quiet empty">{pairs.length ? "No task flipped." : "The two runs have no task in common."}</p>}
        </>
      )}
    </div>
  );
}

function RunChoice({ name, label, value, names }: { name: string; label: string; value: string; names: string[] }) {
  return (
    <label class="choice">
      <b>{label}</b>{" "}
      <select value={value} onChange={(event) => change({ [name]: event.currentTarget.value, task: null })}>
        {!names.includes(value) && <option value={value}>{value || "no run"}</option>}
        {names.map((one) => (
          <option value={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

function TaskTable({ pairs, task }: { pairs: TaskPair[]; task: string | null }) {
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th scope="col">task</th>
          <th scope="col">A</th>
          <th scope="col">B</th>
          <th scope="col" class="number">
            B − A
          </th>
          <th scope="col" class="number wide">
            episodes
          </th>
        </tr>
      </thead>
      <tbody>
        {pairs.map((pair) => (
          <tr class={pair.task === task ? "active" : ""}>
            <td>
              <button type="button" class="link" onClick={() => change({ task: pair.task })}>
                <Said text={pair.task} />
              </button>
              {pair.hasFlipped && <span class="label">flipped</span>}
            </td>
            <td>
              <Reward value={pair.meanA} />
            </td>
            <td>
              <Reward value={pair.meanB} />
            </td>
            <td class="number">{pair.difference === null ? "–" : signed(pair.difference)}</td>
            <td class="number wide quiet">
              {pair.a.episodes.length} · {pair.b.episodes.length}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Shows an episode of a task in each run, beside each other. */
function TaskBeside({ a, b, pair }: { a: string; b: string; pair: TaskPair }) {
  const [at, set] = useState(0);
  const holder = useRef<HTMLElement>(null);
  useEffect(() => holder.current?.scrollIntoView({ block: "start" }), [pair.task]);
  const count = Math.max(pair.a.episodes.length, pair.b.episodes.length);
  const place = Math.min(at, count - 1);
  const named = [
    { run: a, ids: pair.a.episodes },
    { run: b, ids: pair.b.episodes },
  ].map(({ run, ids }) => {
    const id = ids[Math.min(place, ids.length - 1)]!;
    return { run, id, title: `${run}: ${id}` };
  });
  return (
    <section ref={holder} aria-label={`Task ${pair.task}`}>
      <div class="tools">
        <h2>
          <Said text={pair.task} />
        </h2>
        <button type="button" disabled={place === 0} onClick={() => set(place - 1)}>
          ‹ before
        </button>
        <span class="quiet">
          episode {place + 1} of {count}
        </span>
        <button type="button" disabled={place >= count - 1} onClick={() => set(place + 1)}>
          next ›
        </button>
        <button type="button" class="plain" onClick={() => change({ task: null })}>
          close
        </button>
      </div>
      <Beside named={named} />
    </section>
  );
}
