/** Shows the view that the address names, under a bar that is always there. */

import { useEffect, useState } from "preact/hooks";
import { episodeHref, go, href, runHref, selectionOf, useAddress, type Address } from "./base/address";
import { useKeys } from "./base/keys";
import { switchTheme, useTheme } from "./base/theme";
import { ComparePage } from "./compare/page";
import { EpisodePage } from "./episode/page";
import { EpisodesPage } from "./episodes/page";
import { KeysDialog } from "./parts/keys_dialog";
import { Link } from "./parts/link";
import { Said } from "./parts/text";
import { RunsPage } from "./folder/page";
import { TokensPage } from "./tokens/page";

interface Place {
  view: "runs" | "run" | "episode" | "sample" | "compare" | "nowhere";
  run: string;
  episode: string;
  sample: number;
}

function placeOf(path: string): Place {
  const place: Place = { view: "nowhere", run: "", episode: "", sample: 0 };
  let parts: string[];
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return place;
  }
  const [first, run = "", second, episode = "", third, sample = ""] = parts;
  if (first === undefined) return { ...place, view: "runs" };
  if (first === "compare" && parts.length === 1) return { ...place, view: "compare" };
  if (first !== "run" || !run) return place;
  if (parts.length === 2) return { ...place, view: "run", run };
  if (second !== "episode" || !episode) return place;
  if (parts.length === 4) return { ...place, view: "episode", run, episode };
  const isSample = third === "sample" && /^\d+$/.test(sample) && parts.length === 6;
  return isSample ? { view: "sample", run, episode, sample: Number(sample) } : place;
}

export function App() {
  const address = useAddress();
  const place = placeOf(address.path);
  const [areKeysShown, showKeys] = useState(false);
  useKeys([
    { keys: ["?"], does: "show the keys", run: () => showKeys(true) },
    { keys: ["g r"], does: "go to the runs", run: () => go("/") },
    { keys: ["g d"], does: "dark or light", run: switchTheme },
  ]);
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    document.title = [place.sample && `sample ${place.sample}`, place.episode, place.run, "ray_gym"].filter(Boolean).join(" · ");
  }, [address.path]);
  return (
    <div class="app">
      <a class="skip" href="#main">
        to the content
      </a>
      <Bar place={place} address={address} showKeys={() => showKeys(true)} />
      <main id="main" tabIndex={-1}>
        <View place={place} address={address} />
      </main>
      {areKeysShown && <KeysDialog close={() => showKeys(false)} />}
    </div>
  );
}

function View({ place, address }: { place: Place; address: Address }) {
  const { view, run, episode, sample } = place;
  if (view === "runs") return <RunsPage query={address.query} />;
  if (view === "run") return <EpisodesPage key={run} run={run} query={address.query} />;
  if (view === "episode") return <EpisodePage key={run} run={run} episode={episode} query={address.query} />;
  if (view === "sample")
    return <TokensPage key={`${run}/${episode}/${sample}`} run={run} episode={episode} sample={sample} query={address.query} />;
  if (view === "compare") return <ComparePage query={address.query} />;
  return (
    <div class="page">
      <div class="notice warn">
        There is no view at this address. <Link to="/">To the runs</Link>
      </div>
    </div>
  );
}

interface BarProps {
  place: Place;
  address: Address;
  showKeys: () => void;
}

function Bar({ place, address, showKeys }: BarProps) {
  const theme = useTheme();
  const selection = selectionOf(address.query);
  return (
    <header class="bar">
      <nav aria-label="Place">
        <Link to="/" class="brand">
          ray_gym
        </Link>
        {place.view === "compare" && <span class="crumb">compare</span>}
        {place.run && (
          <Link to={href(runHref(place.run), selection)} class="crumb">
            <Said text={place.run} />
          </Link>
        )}
        {place.episode && (
          <Link to={href(episodeHref(place.run, place.episode), selection)} class="crumb">
            <Said text={place.episode} />
          </Link>
        )}
        {place.view === "sample" && <span class="crumb">sample {place.sample}</span>}
      </nav>
      <button type="button" class="plain" onClick={showKeys} title="Keys (?)" aria-label="Show the keys">
        ?
      </button>
      <button type="button" class="plain" onClick={switchTheme} aria-label={`Switch to ${theme === "dark" ? "light" : "dark"}`}>
        {theme === "dark" ? "light" : "dark"}
      </button>
    </header>
  );
}
