/** Says what is wrong, and what to do. */

import type { ServerError } from "../base/server";
import type { Damage } from "../base/types";
import { many } from "../base/words";
import { Fold } from "./fold";
import { Said } from "./text";

/** Shows an error of the server as text, with a button that asks again. */
export function Problem({ error, again }: { error: ServerError | null; again?: () => void }) {
  if (!error) return null;
  return (
    <div class="notice bad" role="alert">
      <Said text={error.message} />
      {again && (
        <button type="button" onClick={again}>
          Ask again
        </button>
      )}
    </div>
  );
}

/** Names the parts of a run that can't be read. */
export function DamageNotice({ damage }: { damage: Damage[] }) {
  if (!damage.length) return null;
  const rows = damage.reduce((sum, one) => sum + (one.rows ?? 0), 0);
  const missing = rows ? `; ${many(rows, "episode")} ${rows === 1 ? "is" : "are"} missing` : "";
  return (
    <div class="notice warn" role="status">
      <Fold title={`${many(damage.length, "part")} of this run can't be read${missing}. All else is shown.`}>
        {() => (
          <ul>
            {damage.map((one) => (
              <li>
                <code>{one.file}</code>
                {one.rows === null ? " (the whole file)" : ` (${many(one.rows, "episode")})`}: <Said text={one.reason} />
              </li>
            ))}
          </ul>
        )}
      </Fold>
    </div>
  );
}

/** Says that files are still being read. */
export function Waiting({ files, waiting }: { files: number; waiting: number }) {
  if (!waiting) return null;
  return (
    <p class="quiet" role="status">
      reading the run: {files - waiting} of {many(files, "file")}
    </p>
  );
}
