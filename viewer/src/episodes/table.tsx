/** Shows the episodes as a table of which only the rows in sight are drawn. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { change, episodeHref, go, href, selectionOf } from "../base/address";
import { useKeys } from "../base/keys";
import type { EpisodeRow } from "../base/types";
import { remember, remembered, useList } from "../base/virtual";
import { columnWord } from "../base/words";
import { Link } from "../parts/link";
import { Reward, Status } from "../parts/state";
import { Said } from "../parts/text";
import { withSigns } from "../parts/visible";
import { isText, widthOf, written } from "./columns";
import { ColumnFilter } from "./filter";
import type { Rows } from "./rows";

const HEIGHT = 28;

interface TableProps {
  run: string;
  rows: Rows;
  columns: string[];
  query: URLSearchParams;
  labels: ReadonlyMap<string, string[]>;
}

export function EpisodeTable({ run, rows, columns, query, labels }: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const address = location.pathname + location.search;
  const [active, setActive] = useState(() => remembered(`${address}#row`));
  const list = useList({ count: rows.count, scroller, size: () => HEIGHT, overscan: 12, start: remembered(address) });
  const items = list.getVirtualItems();
  const selection = selectionOf(query);
  useEffect(() => {
    const [first, last] = [items[0], items.at(-1)];
    if (first && last) rows.need(first.index, last.index);
  });
  useEffect(() => remember(address, list.scrollOffset ?? 0));
  useEffect(() => remember(`${address}#row`, active), [address, active]);
  const wasShown = useRef("");
  useLayoutEffect(() => {
    const now = selection.toString();
    if (wasShown.current && wasShown.current !== now) {
      list.scrollToOffset(0);
      setActive(0);
    }
    wasShown.current = now || " ";
  }, [selection.toString()]);
  const open = (row: EpisodeRow | undefined) => row && go(href(episodeHref(run, row.episode_id), selection));
  const move = (to: number) => {
    const place = Math.max(0, Math.min(rows.count - 1, to));
    setActive(place);
    list.scrollToIndex(place, { align: "auto" });
    scroller.current?.focus({ preventScroll: true }); // so that Enter is the row's, not that of a button
  };
  useKeys([
    { keys: ["j", "ArrowDown"], does: "next row", run: () => move(active + 1) },
    { keys: ["k", "ArrowUp"], does: "row before", run: () => move(active - 1) },
    { keys: ["PageDown"], does: "20 rows on", run: () => move(active + 20) },
    { keys: ["PageUp"], does: "20 rows back", run: () => move(active - 20) },
    { keys: ["Home"], does: "first row", run: () => move(0) },
    { keys: ["End"], does: "last row", run: () => move(rows.count - 1) },
    { keys: ["Enter"], does: "open the episode", run: () => open(rows.at(active)) },
  ]);
  const template = columns.map((name) => `minmax(${widthOf(name)}px, ${isText(name) ? "1.4fr" : "1fr"})`).join(" ");
  const least = columns.reduce((sum, name) => sum + widthOf(name), 0);
  return (
    <div
      class="grid"
      role="grid"
      aria-label="Episodes"
      aria-rowcount={rows.count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={`row-${active}`}
      tabIndex={0}
      ref={scroller}
      style={{ "--columns": template, "--least": `${least}px` } as Record<string, string>}
    >
      <div class="grid-head" role="row" aria-rowindex={1}>
        {columns.map((name) => (
          <Header run={run} column={name} query={query} />
        ))}
      </div>
      <div class="grid-body" role="rowgroup" style={{ height: `${list.getTotalSize()}px` }}>
        {items.map((item) => (
          <Row
            key={item.index}
            index={item.index}
            top={item.start}
            row={rows.at(item.index)}
            columns={columns}
            isActive={item.index === active}
            labels={labels}
            to={(row) => href(episodeHref(run, row.episode_id), selection)}
            open={(row) => {
              setActive(item.index);
              open(row);
            }}
          />
        ))}
      </div>
    </div>
  );
}

interface HeaderProps {
  run: string;
  column: string;
  query: URLSearchParams;
}

function Header({ run, column, query }: HeaderProps) {
  const sorts = query.getAll("sort");
  const at = sorts.findIndex((one) => one.replace(/^-/, "") === column);
  const isDown = at >= 0 && sorts[at]!.startsWith("-");
  const sort = (event: MouseEvent) => {
    const first = isText(column) ? column : `-${column}`;
    const second = isText(column) ? `-${column}` : column;
    const next = at < 0 ? [first] : sorts[at] === first ? [second] : [];
    const others = sorts.filter((_, place) => place !== at);
    change({ sort: event.shiftKey ? [...others, ...next] : next });
  };
  const sign = at < 0 ? "" : `${isDown ? "↓" : "↑"}${sorts.length > 1 ? at + 1 : ""}`;
  return (
    <div role="columnheader" class={isText(column) ? "" : "number"} aria-sort={at < 0 ? "none" : isDown ? "descending" : "ascending"}>
      <button type="button" class="sort" onClick={sort} title={`Sort by ${columnWord(column)} (Shift adds it to the order)`}>
        {columnWord(column)} <span class="sign">{sign}</span>
      </button>
      <ColumnFilter run={run} column={column} query={query} />
    </div>
  );
}

interface RowProps {
  index: number;
  top: number;
  row: EpisodeRow | undefined;
  columns: string[];
  isActive: boolean;
  labels: ReadonlyMap<string, string[]>;
  to: (row: EpisodeRow) => string;
  open: (row: EpisodeRow) => void;
}

function Row({ index, top, row, columns, isActive, labels, to, open }: RowProps) {
  const click = (event: MouseEvent) => {
    if (row && !event.defaultPrevented && !event.ctrlKey && !event.metaKey) open(row);
  };
  return (
    <div
      role="row"
      id={`row-${index}`}
      aria-rowindex={index + 2}
      aria-selected={isActive}
      class={isActive ? "grid-row active" : "grid-row"}
      style={{ transform: `translateY(${top}px)` }}
      onClick={click}
    >
      {columns.map((name, place) => (
        <div role="gridcell" class={isText(name) ? "" : "number"}>
          {row && <CellText row={row} column={name} to={place === 0 ? to(row) : null} labels={labels.get(row.episode_id)} />}
          {!row && <span class="ghost" />}
        </div>
      ))}
    </div>
  );
}

interface CellProps {
  row: EpisodeRow;
  column: string;
  /** Address of the episode, for the first cell of its row. */
  to: string | null;
  labels: string[] | undefined;
}

function CellText({ row, column, to, labels }: CellProps) {
  const value = row[column] ?? null;
  const shown =
    column === "status" ? (
      <Status is={String(value)} />
    ) : column === "reward" ? (
      <Reward value={value as number | null} />
    ) : (
      <Said text={written(column, value)} />
    );
  if (!to) return shown;
  return (
    <Link to={to} tabIndex={-1} title={withSigns(row.episode_id)}>
      {shown}
      {labels?.map((label) => (
        <span class="label">
          <Said text={label} />
        </span>
      ))}
    </Link>
  );
}
