/** Sets the rewards of two runs beside each other by task. */

import { api, get, REFRESH_MS } from "../base/server";
import type { Group, GroupPage } from "../base/types";

const PAGE = 1000;
/** Most groups of a run that are read. */
const MOST = 20_000;

export interface TaskFigures {
  /** Ids of the task's episodes. */
  episodes: string[];
  completed: number;
  failed: number;
  sum: number;
}

export interface TaskPair {
  task: string;
  a: TaskFigures;
  b: TaskFigures;
  meanA: number | null;
  meanB: number | null;
  difference: number | null;
  hasFlipped: boolean;
}

/** Reads the groups of a run, once the server has read the run itself. */
export async function tasksOf(run: string, signal: AbortSignal): Promise<Map<string, TaskFigures>> {
  const found = new Map<string, TaskFigures>();
  for (let offset = 0; offset < MOST; ) {
    const page = await get<GroupPage>(api(run, `/groups?limit=${PAGE}&offset=${offset}`), signal);
    if (page.waiting) {
      await new Promise((resolve) => setTimeout(resolve, REFRESH_MS / 4));
      continue;
    }
    for (const group of page.rows) add(found, group);
    offset += PAGE;
    if (page.rows.length < PAGE) break;
  }
  return found;
}

function add(found: Map<string, TaskFigures>, group: Group): void {
  const task = group.task_id ?? group.group_id;
  const figures = found.get(task) ?? { episodes: [], completed: 0, failed: 0, sum: 0 };
  for (const one of group.episodes) {
    figures.episodes.push(one.episode_id);
    if (one.status === "completed" && one.reward !== null) {
      figures.completed += 1;
      figures.sum += one.reward;
    } else if (one.status === "failed") figures.failed += 1;
  }
  found.set(task, figures);
}

const mean = (figures: TaskFigures): number | null => (figures.completed ? figures.sum / figures.completed : null);

/** Reward from which on a task counts as solved. */
export const SOLVED = 0.5;

/** Returns the tasks that both runs have; the widest difference comes first. A task has flipped if its mean reward is at
 * least `SOLVED` in one run only. */
export function pairsOf(a: Map<string, TaskFigures>, b: Map<string, TaskFigures>): TaskPair[] {
  const pairs: TaskPair[] = [];
  for (const [task, ofA] of a) {
    const ofB = b.get(task);
    if (!ofB) continue;
    const [meanA, meanB] = [mean(ofA), mean(ofB)];
    const areKnown = meanA !== null && meanB !== null;
    pairs.push({
      task,
      a: ofA,
      b: ofB,
      meanA,
      meanB,
      difference: areKnown ? meanB - meanA : null,
      hasFlipped: areKnown && meanA >= SOLVED !== meanB >= SOLVED,
    });
  }
  return pairs.sort((one, two) => Math.abs(two.difference ?? 0) - Math.abs(one.difference ?? 0));
}
