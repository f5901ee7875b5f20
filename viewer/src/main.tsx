/** Starts the page. */

import { render } from "preact";
import { App } from "./app";
import { applyTheme } from "./base/theme";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/tables.css";
import "./styles/episode.css";
import "./styles/tokens.css";

applyTheme();
render(<App />, document.getElementById("app")!);
