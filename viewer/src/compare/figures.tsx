/** Shows the figures of two runs, how they differ, and how sure that is. */

import { runHref } from "../base/address";
import { api, isGrowing, useLoaded } from "../base/server";
import type { Compared, Comparison, EpisodePage, Figures } from "../base/types";
import { many, real, share, signed, whole } from "../base/words";
import { Link } from "../parts/link";
import { Problem } from "../parts/notice";
import { Said } from "../parts/text";
import { SOLVED } from "./tasks";

type Row = [name: string, of: (figures: Figures) => number | null, written?: (figures: Figures) => string];

const ROWS: Row[] = [
  ["episodes", (one) => one.episodes],
  ["completed", (one) => one.completed],
  ["failed", (one) => one.failed, (one) => `${whole(one.failed)} · ${share(one.failed, one.episodes)}`],
  ["mean reward", (one) => one.mean_reward],
  ["tokens an episode", (one) => one.mean_tokens],
  ["turns an episode", (one) => one.mean_turns],
];
/** Words for the numbers that are compared task by task. */
const NUMBERS: Record<string, string> = {
  reward: "reward",
  success: `share of rewards ≥ ${SOLVED}`,
  failed: "share of failed episodes",
  turns: "turns",
  generated_tokens: "tokens generated",
  tool_calls: "tool calls",
  tool_errors: "tool errors",
};

export function FigureTable({ a, b }: { a: string; b: string }) {
  const sides = [useLoaded<EpisodePage>(api(a, "/episodes?limit=1"), isGrowing), useLoaded<EpisodePage>(api(b, "/episodes?limit=1"), isGrowing)];
  const [ofA, ofB] = sides.map((side) => side.value?.figures);
  return (
    <section aria-label="Figures of all episodes">
      <h2>All episodes</h2>
      <table class="plain-table compare-table">
      <thead>
        <tr>
          <th scope="col">mean over episodes</th>
          <RunHeads a={a} b={b} />
          <th scope="col" class="number">
            B − A
          </th>
        </tr>
      </thead>
      <tbody>
        {ROWS.map(([name, of, written]) => {
          const [left, right] = [ofA && of(ofA), ofB && of(ofB)];
          return (
            <tr>
              <th scope="row">{name}</th>
              <td class="number">{ofA ? (written?.(ofA) ?? real(left)) : "…"}</td>
              <td class="number">{ofB ? (written?.(ofB) ?? real(right)) : "…"}</td>
              <td class="number">{typeof left === "number" && typeof right === "number" ? signed(right - left) : "–"}</td>
            </tr>
          );
        })}
      </tbody>
      </table>
    </section>
  );
}

function RunHeads({ a, b }: { a: string; b: string }) {
  return (
    <>
      {[a, b].map((run) => (
        <th scope="col" class="number">
          <Link to={runHref(run)}>
            <Said text={run} />
          </Link>
        </th>
      ))}
    </>
  );
}

/** Shows the differences over the tasks of both runs, with their intervals. `files`: number of files that were read, with
 * which it is computed anew. */
export function DifferenceTable({ a, b, files }: { a: string; b: string; files: string }) {
  const query = new URLSearchParams({ a, b, solved: String(SOLVED) });
  const { value, error, reload } = useLoaded<Comparison>(`/api/compare?${query}`, () => false, files);
  if (error) return <Problem error={error} again={reload} />;
  if (!value) return <p class="quiet">comparing task by task …</p>;
  const found = value.comparison;
  return (
    <section aria-label="Differences, task by task">
      {found ? (
        <>
          <div class="title">
            <h2>Differences, paired by task</h2>
            <span class="quiet">
              {many(found.common, "task")} in both{onlyWords(found.only_first, found.only_second)}; each counts once
            </span>
          </div>
          <table class="plain-table compare-table differences">
            <thead>
              <tr>
                <th scope="col">mean over tasks</th>
                <th scope="col" class="number wide">A</th>
                <th scope="col" class="number wide">B</th>
                <th scope="col" class="number">B − A</th>
                <th scope="col" class="number">95% interval</th>
                <th scope="col" class="number wide" title="Chance of such a difference if there is none; adjusted by Holm's method for all rows">
                  p, adjusted
                </th>
                <th scope="col" class="number" title="Least difference that this many tasks would have shown in 80% of comparisons">
                  least effect
                </th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(found.numbers).map(([name, one]) => (
                <DifferenceRow name={NUMBERS[name] ?? name} one={one} />
              ))}
            </tbody>
          </table>
          <p class="quiet">
            Least effect: the difference that this many tasks would have shown 4 times in 5.
            {found.flips && ` Successes gained on ${found.flips.gained} and lost on ${found.flips.lost} tasks (McNemar's exact p ${chance(found.flips.p)}).`}
          </p>
        </>
      ) : (
        <p class="quiet">
          <Said text={value.why} />
        </p>
      )}
      {value.remarks.map((remark) => (
        <p class="problem">
          <Said text={remark} />
        </p>
      ))}
    </section>
  );
}

function DifferenceRow({ name, one }: { name: string; one: Compared }) {
  const { interval, least_effect } = one.difference;
  const isKnown = interval.low !== null && interval.high !== null;
  const isSure = isKnown && (interval.low! > 0 || interval.high! < 0);
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number wide">{real(one.first)}</td>
      <td class="number wide">{real(one.second)}</td>
      <td class={isSure ? "number sure" : "number"} title={isSure ? "the interval does not hold 0" : ""}>
        {signed(interval.value)}
      </td>
      <td class="number" title={interval.why_none}>
        {isKnown ? `${signed(interval.low!)} to ${signed(interval.high!)}` : "none"}
      </td>
      <td class="number wide">{chance(one.p_adjusted)}</td>
      <td class="number">{real(least_effect)}</td>
    </tr>
  );
}

const onlyWords = (first: number, second: number): string =>
  first || second ? `, ${whole(first)} in A only, ${whole(second)} in B only` : "";

const chance = (p: number | null): string => (p === null ? "–" : p < 0.001 ? "< 0.001" : real(p));
