/** Writes numbers, times and sizes for people. */

const WHOLE = new Intl.NumberFormat("en");

export function whole(value: number): string {
  return WHOLE.format(value);
}

/** Writes a number with at most `digits` digits behind the point, and none that say nothing. */
export function real(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return whole(value);
  const size = Math.abs(value);
  if (size >= 10000) return whole(Math.round(value));
  return size < 10 ** -digits ? value.toExponential(1) : String(Number(value.toFixed(digits)));
}

/** Writes a difference with its sign. */
export function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${real(Math.abs(value))}`;
}

export function share(part: number, of: number): string {
  if (!of) return "–";
  const percent = (100 * part) / of;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`;
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return value < 7200 ? `${(value / 60).toFixed(1)} min` : `${(value / 3600).toFixed(1)} h`;
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let left = value;
  while (left >= 1000 && at < units.length - 1) {
    left /= 1000;
    at += 1;
  }
  return `${left < 10 && at ? left.toFixed(1) : Math.round(left)} ${units[at]}`;
}

/** Says how long ago a Unix time was. */
export function age(changed: number): string {
  const passed = Math.max(0, Date.now() / 1000 - changed);
  if (passed < 120) return `${Math.round(passed)} s`;
  if (passed < 7200) return `${Math.round(passed / 60)} min`;
  return passed < 172800 ? `${Math.round(passed / 3600)} h` : `${Math.round(passed / 86400)} days`;
}

/** Writes a Unix time as the day and time of the reader. */
export function moment(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const at = new Date(value * 1000);
  const two = (number: number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function many(count: number, one: string, more = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : more}`;
}

/** Words of the page for the columns of the index. */
export const COLUMN_WORDS: Record<string, string> = {
  episode_id: "episode",
  task_id: "task",
  group_id: "group",
  env_id: "environment",
  stop_reason: "stop",
  failure_kind: "failure",
  failure_where: "failed where",
  failure: "failure text",
  generated_tokens: "tokens",
  prompt_tokens: "prompt tokens",
  cached_tokens: "cached tokens",
  model_calls: "model calls",
  tool_calls: "tool calls",
  tool_errors: "tool errors",
  active_s: "active",
  model_s: "model time",
  tool_s: "tool time",
  started_at: "started",
  ended_at: "ended",
  stop_text: "stop text",
  group_size: "group size",
  group_completed: "completed in group",
  newest: "newest version",
};

export const columnWord = (name: string): string => COLUMN_WORDS[name] ?? name;
