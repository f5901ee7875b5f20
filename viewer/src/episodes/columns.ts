/** Says how the columns of the index are shown. */

import type { Cell } from "../base/types";
import { moment, real, seconds, whole } from "../base/words";

const TEXTS = new Set([
  "episode_id", "task_id", "group_id", "env_id", "status", "stop_reason",
  "stop_text", "failure_kind", "failure_where", "failure",
]);
const TIMES = new Set(["started_at", "ended_at"]);
const LENGTHS = new Set(["active_s", "model_s", "tool_s"]);
const WIDTHS: Record<string, number> = {
  episode_id: 190, task_id: 130, group_id: 150, env_id: 150, status: 104, stop_reason: 112, stop_text: 240,
  failure_kind: 104, failure_where: 180, failure: 300, reward: 96, started_at: 152, ended_at: 152, seed: 170,
  repeat: 84, turns: 80, version: 92, generated_tokens: 88, tool_errors: 108, model_s: 104, active_s: 88,
};

const USUAL = [
  "episode_id", "status", "reward", "stop_reason", "failure_kind", "turns", "generated_tokens",
  "tool_errors", "version", "model_s", "task_id",
];
const NARROW = ["status", "reward", "stop_reason", "turns"];

export const isText = (column: string): boolean => TEXTS.has(column);
export const widthOf = (column: string): number => WIDTHS[column] ?? 112;

/** Returns the columns to show: those of the address, else the usual ones for the width of the window. */
export function shownColumns(chosen: string | null, all: string[], isNarrow: boolean): string[] {
  const wanted = chosen ? chosen.split(",") : isNarrow ? NARROW : USUAL;
  const found = wanted.filter((name) => all.includes(name));
  return found.length ? found : all.slice(0, 4);
}

/** Writes a cell that is no reward and no status. */
export function written(column: string, value: Cell | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (TIMES.has(column)) return moment(value);
  if (LENGTHS.has(column)) return seconds(value);
  if (column === "seed") return String(value);
  return Number.isInteger(value) ? whole(value) : real(value);
}
