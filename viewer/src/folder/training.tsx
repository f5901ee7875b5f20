/** Draws the curves that a trainer wrote beside a run. */

import { api, useLoaded } from "../base/server";
import type { Training } from "../base/types";
import { many } from "../base/words";
import { Chart } from "../parts/chart";
import { Fold } from "../parts/fold";
import { Problem } from "../parts/notice";
import { Said } from "../parts/text";

/** Columns of `examples/grpo` that are shown first, with what they are. */
const FIRST: [string, string, [number, number]?][] = [
  ["reward", "reward of the batch", [0, 1]],
  ["legal", "share of legal moves", [0, 1]],
  ["length", "tokens of the policy an episode"],
  ["kl", "KL from the start, nats a token"],
  ["ratio_error", "error of the ratio under the weights that drew"],
  ["staleness", "staleness: versions between drawing and training"],
  ["tokens_per_s", "tokens/s"],
  ["trainer_waits", "share of the step in which the trainer waits", [0, 1]],
  ["engine_waits", "share of the step in which the engine waits", [0, 1]],
];
/** Most further columns that are drawn. */
const MOST = 40;

export function TrainingCurves({ run }: { run: string }) {
  const { value, error, reload } = useLoaded<Training | null>(api(run, "/training"));
  if (error) return <Problem error={error} again={reload} />;
  if (!value || !value.steps.length) return null;
  const first = FIRST.filter(([name]) => name in value.curves);
  const others = Object.keys(value.curves).filter((name) => !first.some(([known]) => known === name));
  return (
    <section aria-label="Curves of the training">
      <div class="title">
        <h2>Training, {many(value.steps.length, "step")}</h2>
        <span class="quiet">
          <Said text={value.file} />
        </span>
      </div>
      <div class="charts">
        {first.map(([name, title, bounds]) => (
          <StepChart of={value} name={name} title={title} bounds={bounds} />
        ))}
      </div>
      {others.length > 0 && (
        <Fold title={`${many(others.length, "more column")} of the file`} open={!first.length}>
          {() => (
            <div class="charts">
              {others.slice(0, MOST).map((name) => (
                <StepChart of={value} name={name} title={name} />
              ))}
            </div>
          )}
        </Fold>
      )}
      <h2>By version of the weights</h2>
    </section>
  );
}

interface StepProps {
  of: Training;
  name: string;
  title: string;
  bounds?: [number, number] | undefined;
}

function StepChart({ of, name, title, bounds }: StepProps) {
  return <Chart title={title} x={of.steps} word={(at) => `step ${at}`} bounds={bounds} curve={{ name, values: of.curves[name]! }} />;
}
