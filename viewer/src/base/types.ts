/** Answers of the server, as `ray_gym/viewer` gives them. */

export type RunState = "live" | "finished" | "interrupted" | "unfinished" | "stream" | "damaged";

export interface ListedRun {
  name: string;
  location: string;
  state: RunState;
  /** Unix time in seconds of the newest file. */
  changed: number;
  /** Bytes of all files. */
  size: number;
  episodes: number;
  planned: number | null;
  failed: number;
  mean_reward: number | null;
  problem: string;
}

export interface Runs {
  folder: string | null;
  runs: ListedRun[];
}

export interface Damage {
  file: string;
  rows: number | null;
  reason: string;
}

/** Says how much of a run's files is read. */
export interface Progress {
  files: number;
  waiting: number;
  damage: Damage[];
  is_live: boolean;
}

export interface RunInfo extends Progress {
  name: string;
  location: string;
  columns: string[];
}

export interface Figures {
  episodes: number;
  completed: number;
  failed: number;
  mean_reward: number | null;
  mean_tokens: number | null;
  mean_turns: number | null;
  /** Versions by which the oldest tokens were behind the newest in the run when the episode was committed. */
  mean_staleness: number | null;
}

export interface VersionFigures extends Figures {
  version: number | null;
}

/** Curves that a trainer wrote beside a run, by the name of their column. */
export interface Training {
  file: string;
  steps: number[];
  curves: Record<string, (number | null)[]>;
}

/** An estimate with its interval; the bounds are null without one. */
export interface Interval {
  value: number;
  low: number | null;
  high: number | null;
  tasks: number;
  why_none: string;
}

/** Compares a number of two runs, over the tasks that both have. */
export interface Compared {
  first: number;
  second: number;
  difference: { interval: Interval; p: number | null; least_effect: number | null; left_out: number };
  p_adjusted: number | null;
}

export interface Comparison {
  comparison: {
    common: number;
    only_first: number;
    only_second: number;
    numbers: Record<string, Compared>;
    flips: { gained: number; lost: number; p: number } | null;
  } | null;
  /** Reason for which there is no comparison. */
  why: string;
  remarks: string[];
}

export type Cell = string | number | null;
export type EpisodeRow = Record<string, Cell> & { episode_id: string };

export interface EpisodePage extends Progress {
  rows: EpisodeRow[];
  figures: Figures;
}

export interface GroupEpisode {
  episode_id: string;
  repeat: number;
  status: string;
  reward: number | null;
  version: number | null;
  advantage: number | null;
}

export interface Group {
  group_id: string;
  task_id: string | null;
  spread: number | null;
  episodes: GroupEpisode[];
}

export interface GroupPage extends Progress {
  rows: Group[];
  figures: { groups: number; without_spread: number };
}

export interface ValueCount {
  value: Cell;
  episodes: number;
}

export interface Hit {
  episode_id: string;
  seq: number;
  participant: string | null;
  kind: string;
  part: string;
  before: string;
  found: string;
  after: string;
}

export interface Found {
  hits: Hit[];
  count: number;
  episodes: number;
  files: number;
  of: number;
  /** Numbers of the hits by participant; "" for events of nobody. */
  by: Record<string, number>;
}

export interface Part {
  type: string;
  text: string | null;
  /** Number of the text's characters, if the server has cut it. */
  cut?: number;
}

export interface Call {
  id: string | null;
  name: string;
  arguments: string | null;
  cut?: number;
}

export interface Event {
  seq: number;
  turn: number;
  step: number;
  thread: string | null;
  participant: string | null;
  kind: string;
  role: string | null;
  content: Part[] | null;
  reasoning: string | null;
  cut?: number;
  tool_calls: Call[] | null;
  tool_call_id: string | null;
  visible_to: string[] | null;
  finish_reason: string | null;
  error: string | null;
  reward: number | null;
  model: string | null;
  /** Unix time in seconds. */
  started_at: number | null;
  duration_s: number | null;
}

export interface Sample {
  thread: string;
  participant: string;
  model: string;
  trainable: boolean;
  reward: number | null;
  fork_reason: string | null;
  tokens: number;
  generated: number;
}

export interface Failure {
  kind: string;
  where: string | null;
  message: string;
}

/** A picture of the state, as the environment gave it after an event. */
export interface Picture {
  event_seq: number;
  /** Height in pixels, as far as the server can guess it. */
  height: number;
}

export interface Episode {
  run_id: string;
  episode_id: string;
  task_id: string | null;
  group_id: string | null;
  repeat: number;
  try: number;
  attempt: number;
  env_id: string;
  seed: number;
  status: string;
  stop_reason: string | null;
  stop_text: string | null;
  failure: Failure | null;
  traceback: string | null;
  reward: number | null;
  rewards: { participant: string; name: string; value: number | null }[] | null;
  turns: number;
  task: unknown;
  events: Event[] | null;
  samples: Sample[];
  renderings: Picture[];
  tools_shown: unknown;
  usage: Record<string, number> | null;
  timing: Record<string, number> | null;
  started_at: number | null;
  ended_at: number | null;
}

/** Place of an episode among the selected ones. */
export interface Neighbours {
  previous: string | null;
  next: string | null;
  /** Its number, from 0. */
  at: number | null;
}

export interface Span {
  event_seq: number | null;
  start: number;
  end: number;
  generated: boolean;
  kind: string | null;
  sampling: Record<string, number | string | null> | null;
}

export interface SampleTokens {
  token_ids: number[];
  loss_mask: number[];
  logprobs: (number | null)[];
  versions: (number | null)[];
  kinds: number[];
  spans: Span[];
  vocabulary: Record<string, string> | null;
  control: number[];
  annotations: Partial<Record<"logprob" | "entropy" | "advantage", (number | null)[]>>;
}

export interface Note {
  labels: string[];
  remark: string;
  changed_at?: number;
}
