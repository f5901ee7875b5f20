/** Shows a picture that the environment gave of its state, in a frame that may do nothing. */

import { api } from "../base/server";
import { useTheme } from "../base/theme";
import type { Picture } from "../base/types";

interface PictureProps {
  run: string;
  episode: string;
  /** Number of the picture in its episode. */
  number: number;
  picture: Picture;
}

/** Shows a picture. The server has left out of it all but an allow-list of elements; the frame has no right on top of
 * that: no script, no form, no origin, and a policy of its own. */
export function PictureFrame({ run, episode, number, picture }: PictureProps) {
  const theme = useTheme();
  return (
    <figure class="state">
      <figcaption class="quiet">state</figcaption>
      <iframe
      class="picture"
      sandbox=""
      loading="lazy"
      referrerpolicy="no-referrer"
      tabIndex={0}
      title={`State of the environment after event ${picture.event_seq}`}
      src={api(run, `/episodes/${encodeURIComponent(episode)}/renderings/${number}?theme=${theme}`)}
      style={{ height: `${picture.height}px` }}
    />
    </figure>
  );
}

/** Returns the pictures of an episode by the number of their event, each by its own number. Those of the state before all
 * events are the first event's. */
export function picturesOf(pictures: Picture[], first: number): Map<number, Map<number, Picture>> {
  const found = new Map<number, Map<number, Picture>>();
  pictures.forEach((one, number) => {
    const seq = Math.max(first, one.event_seq);
    found.set(seq, (found.get(seq) ?? new Map()).set(number, one));
  });
  return found;
}
