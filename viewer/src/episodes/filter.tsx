/** Filters by column: a box with the commonest values, and the filters that hold as chips. */

import { useState } from "preact/hooks";
import { change, changed, selectionOf } from "../base/address";
import { api, useLoaded } from "../base/server";
import type { Cell, ValueCount } from "../base/types";
import { columnWord, whole } from "../base/words";
import { Problem } from "../parts/notice";
import { Popover } from "../parts/popover";
import { Said } from "../parts/text";
import { isText, written } from "./columns";

const FILTER = /^(\w+)(!=|<=|>=|=|<|>|~)([\s\S]*)$/;
const SIGNS: Record<string, string> = { "=": "is", "!=": "is not", "<=": "≤", ">=": "≥", "<": "<", ">": ">", "~": "contains" };

/** Writes a filter in words. */
export function filterWords(filter: string): string {
  const read = FILTER.exec(filter);
  if (!read) return filter;
  const [, column, operator, value] = read;
  return `${columnWord(column!)} ${SIGNS[operator!]} ${value === "" ? "empty" : value}`;
}

const add = (query: URLSearchParams, filter: string) => change({ f: [...query.getAll("f").filter((one) => one !== filter), filter] });
const remove = (query: URLSearchParams, filter: string) => change({ f: query.getAll("f").filter((one) => one !== filter) });

/** Shows the filters that hold; a click takes one away. */
export function Chips({ query }: { query: URLSearchParams }) {
  const filters = query.getAll("f");
  const labels = query.getAll("label");
  if (!filters.length && !labels.length) return null;
  return (
    <div class="chips" role="group" aria-label="Filters">
      {filters.map((filter) => (
        <button type="button" class="filter-chip" onClick={() => remove(query, filter)} aria-label={`Remove the filter: ${filterWords(filter)}`}>
          <Said text={filterWords(filter)} /> <span aria-hidden="true">×</span>
        </button>
      ))}
      {labels.map((label) => (
        <button
          type="button"
          class="filter-chip"
          onClick={() => change({ label: labels.filter((one) => one !== label) })}
          aria-label={`Remove the filter by label ${label}`}
        >
          {label === "*" ? "has a note" : <Said text={`label ${label}`} />} <span aria-hidden="true">×</span>
        </button>
      ))}
      <button type="button" class="plain" onClick={() => change({ f: null, label: null })}>
        remove all
      </button>
    </div>
  );
}

interface ColumnProps {
  run: string;
  column: string;
  query: URLSearchParams;
}

/** Shows a button that opens the filters of a column. */
export function ColumnFilter({ run, column, query }: ColumnProps) {
  const holds = query.getAll("f").some((one) => FILTER.exec(one)?.[1] === column);
  return (
    <Popover label="▾" name={`Filter by ${columnWord(column)}`} class={holds ? "filter holds" : "filter"}>
      {(close) => <FilterBox run={run} column={column} query={query} close={close} />}
    </Popover>
  );
}

function FilterBox({ run, column, query, close }: ColumnProps & { close: () => void }) {
  const others = query.getAll("f").filter((one) => FILTER.exec(one)?.[1] !== column);
  const selection = changed(selectionOf(query), { f: others, sort: null });
  const { value, error } = useLoaded<ValueCount[]>(api(run, `/values/${column}?${selection}`));
  const [operator, setOperator] = useState(isText(column) ? "~" : ">=");
  const [text, setText] = useState("");
  const choose = (filter: string) => {
    close();
    add(query, filter);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (text.trim()) choose(`${column}${operator}${isText(column) ? text : text.trim()}`);
  };
  const operators = isText(column) ? ["~", "=", "!="] : [">=", "<=", ">", "<", "=", "!="];
  return (
    <>
      <form class="compare" onSubmit={submit}>
        <select aria-label="Comparison" value={operator} onChange={(event) => setOperator(event.currentTarget.value)}>
          {operators.map((one) => (
            <option value={one}>{SIGNS[one]}</option>
          ))}
        </select>
        <input
          aria-label={`Value of ${columnWord(column)}`}
          inputMode={isText(column) ? "text" : "decimal"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Add</button>
      </form>
      <Problem error={error} />
      {!value && !error && <p class="quiet">counting …</p>}
      <ul class="values">
        {value?.map((one) => (
          <li>
            <button type="button" onClick={() => choose(`${column}=${exact(one.value)}`)}>
              <Said text={one.value === null ? "empty" : written(column, one.value) || '""'} />
              <span class="quiet">{whole(one.episodes)}</span>
            </button>
          </li>
        ))}
      </ul>
      {(value?.length ?? 0) >= 50 && <p class="quiet">the 50 commonest values</p>}
    </>
  );
}

const exact = (value: Cell): string => (value === null ? "" : String(value));
