/** Shows the groups of a run, a strip each: rewards of its episodes, spread and advantages. */

import { useEffect, useRef, useState } from "preact/hooks";
import { change, changed, episodeHref, go, href, selectionOf } from "../base/address";
import { useKeys } from "../base/keys";
import { api, get, ServerError, useLoaded } from "../base/server";
import type { Group, GroupEpisode, GroupPage } from "../base/types";
import { useList } from "../base/virtual";
import { real, share, whole } from "../base/words";
import { Link } from "../parts/link";
import { Problem } from "../parts/notice";
import { rewardClass } from "../parts/state";
import { Said } from "../parts/text";
import { withSigns } from "../parts/visible";

const PAGE = 200;
const HEIGHT = 36;

interface GroupsProps {
  run: string;
  query: URLSearchParams;
  /** Number of the selected episodes: when it changes, the groups are asked for again. */
  episodes: number | null;
}

const ORDERS: [string, string][] = [
  ["", "as committed"],
  ["spread", "widest spread first"],
  ["-spread", "no spread first"],
];

export function Groups({ run, query, episodes }: GroupsProps) {
  const order = query.get("groups") ?? "";
  const selection = changed(selectionOf(query), { sort: order || null }).toString();
  const first = useLoaded<GroupPage>(api(run, `/groups?${selection}&limit=${PAGE}`), () => false, episodes);
  const [more, setMore] = useState<{ of: string; groups: Map<number, Group[]> }>({ of: "", groups: new Map() });
  const [problem, setProblem] = useState<ServerError | null>(null);
  const asked = useRef(new Set<string>());
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const total = first.value?.figures.groups ?? 0;
  const list = useList({ count: total, scroller, size: () => HEIGHT, overscan: 8 });
  const items = list.getVirtualItems();
  const at = (index: number): Group | undefined =>
    index < PAGE ? first.value?.rows[index] : more.of === selection ? more.groups.get(Math.floor(index / PAGE))?.[index % PAGE] : undefined;
  useEffect(() => {
    const [from, to] = [items[0], items.at(-1)];
    if (!from || !to) return;
    for (let page = Math.max(1, Math.floor(from.index / PAGE)); page <= Math.floor(to.index / PAGE); page += 1) {
      const key = `${selection}#${page}`;
      if (asked.current.has(key)) continue;
      asked.current.add(key);
      get<GroupPage>(api(run, `/groups?${selection}&limit=${PAGE}&offset=${page * PAGE}`)).then(
        (found) =>
          setMore((before) => ({
            of: selection,
            groups: new Map(before.of === selection ? before.groups : []).set(page, found.rows),
          })),
        (error: unknown) => {
          asked.current.delete(key);
          setProblem(error instanceof ServerError ? error : new ServerError(String(error), 0));
        },
      );
    }
  });
  const open = (group: Group | undefined) =>
    group?.episodes[0] && go(href(episodeHref(run, group.episodes[0].episode_id), selectionOf(query)));
  const move = (by: number) => {
    const to = Math.max(0, Math.min(total - 1, active + by));
    setActive(to);
    list.scrollToIndex(to, { align: "auto" });
    scroller.current?.focus({ preventScroll: true });
  };
  useKeys([
    { keys: ["j", "ArrowDown"], does: "next group", run: () => move(1) },
    { keys: ["k", "ArrowUp"], does: "group before", run: () => move(-1) },
    { keys: ["Enter"], does: "open the group's first episode", run: () => open(at(active)) },
  ]);
  const figures = first.value?.figures;
  return (
    <>
      <div class="tools">
        <span>
          {figures ? `${whole(figures.groups)} groups` : "reading …"}
          {figures && (
            <span class="quiet">
              {" "}
              · {whole(figures.without_spread)} without spread ({share(figures.without_spread, figures.groups)})
            </span>
          )}
        </span>
        <RewardLegend />
        <span class="push" />
        <label class="choice">
          order{" "}
          <select value={order} onChange={(event) => change({ groups: event.currentTarget.value })}>
            {ORDERS.map(([value, words]) => (
              <option value={value}>{words}</option>
            ))}
          </select>
        </label>
      </div>
      <Problem error={first.error ?? problem} again={first.reload} />
      <div class="grid groups" role="grid" aria-label="Groups" aria-rowcount={total} tabIndex={0} ref={scroller}>
        <div class="grid-body" role="rowgroup" style={{ height: `${list.getTotalSize()}px` }}>
          {items.map((item) => (
            <GroupStrip
              key={item.index}
              index={item.index}
              top={item.start}
              group={at(item.index)}
              isActive={item.index === active}
              to={(one) => href(episodeHref(run, one.episode_id), selectionOf(query))}
            />
          ))}
        </div>
      </div>
    </>
  );
}

function RewardLegend() {
  return (
    <span class="legend" aria-hidden="true">
      reward 0
      <span class="ramp">
        {Array.from({ length: 9 }, (_, level) => (
          <span class={`r-${level}`} />
        ))}
      </span>
      1 <span class="square failed" /> failed
    </span>
  );
}

/** Returns the mean reward of a group's completed episodes. */
function meanOf(group: Group): number | null {
  const rewards = group.episodes.flatMap((one) => (one.status === "completed" && one.reward !== null ? [one.reward] : []));
  return rewards.length ? rewards.reduce((sum, one) => sum + one, 0) / rewards.length : null;
}

interface StripProps {
  index: number;
  top: number;
  group: Group | undefined;
  isActive: boolean;
  to: (one: GroupEpisode) => string;
}

function GroupStrip({ index, top, group, isActive, to }: StripProps) {
  const rewards = group?.episodes.map((one) => one.reward ?? 0) ?? [];
  const low = Math.min(0, ...rewards);
  const high = Math.max(1, ...rewards);
  const isFlat = group?.spread === 0;
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isActive}
      class={`group-row${isActive ? " active" : ""}${isFlat ? " flat" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div role="gridcell" class="group-name">
        {group && <Said text={group.task_id ?? group.group_id} />}
      </div>
      <div role="gridcell" class="group-spread">
        {group && (group.spread === null ? "none completed" : isFlat ? "no spread" : `spread ${real(group.spread, 2)}`)}
      </div>
      <div role="gridcell" class="group-mean wide">{group && `mean ${real(meanOf(group), 2)}`}</div>
      <div role="gridcell" class="strip">
        {group?.episodes.map((one) => {
          const words = withSigns(`repeat ${one.repeat}: ${one.status}${one.reward === null ? "" : `, reward ${real(one.reward)}`}${one.advantage === null ? "" : `, advantage ${real(one.advantage)}`}`);
          const isFailed = one.status !== "completed";
          const height = isFailed ? 100 : 20 + (80 * ((one.reward ?? 0) - low)) / (high - low);
          return (
            <Link to={to(one)} class="bar-link" title={words} aria-label={words}>
              <span class={isFailed ? "square failed" : `square ${rewardClass(one.reward, low, high)}`} style={{ height: `${height}%` }} />
            </Link>
          );
        })}
      </div>
    </div>
  );
}
