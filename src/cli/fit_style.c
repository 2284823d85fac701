/* SPDX-License-Identifier: BSD-3-Clause
 * The style of report.html. It follows the reader's light or dark setting, and is one column on a phone. What
 * moves there moves by CSS: there are no scripts, so that a report of somebody else's job can do nothing. */
#include "fit_work.h"

const char report_style[] =
    /* colours and text */
    ":root{color-scheme:light "
    "dark;--accent:#2f6fdb;--second:#c07a1a;--line:#8884;--soft:#8882;--quiet:#6b6b6b;"
    "--page:#fff}"
    "@media(prefers-color-scheme:dark){:root{--accent:#6ea0ff;--second:#e0a54a;--quiet:#a2a2a2;--page:#"
    "121212}}"
    "*{box-sizing:border-box}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1160px;margin:2em auto;padding:0 1.2em;"
    "background:var(--page);overflow-wrap:anywhere}"
    "h1{font-size:1.5em;margin:0 0 .2em}h2{font-size:1.12em;margin:1.8em 0 .5em;border-bottom:1px solid "
    "var(--line)}h3{font-size:1em;margin:1em 0 .4em}.quiet{color:var(--quiet);font-size:.88em}"
    ".warning{border-left:4px solid #d33;padding:.3em .8em}"
    ".cards{display:flex;flex-wrap:wrap;gap:.8em;margin:1em 0}"
    ".card{background:var(--soft);border-radius:8px;padding:.5em 1em}"
    ".card b{display:block;font-size:1.25em;font-weight:600}.card span{color:var(--quiet);font-size:.85em}"
    ".card.head b{font-size:1.6em}"
    /* pictures */
    ".pictures{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:.8em}"
    ".charts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1em}"
    ".strip{display:flex;gap:.6em;overflow-x:auto;padding-bottom:.4em}.strip figure{flex:0 0 110px}"
    ".slices figure{margin-bottom:.6em}.turntable{max-width:900px;margin-bottom:1em}"
    "figure{margin:0;min-width:0}figcaption{color:var(--quiet);font-size:.88em}"
    "img{width:100%;image-rendering:pixelated;border-radius:4px;display:block}"
    /* a click enlarges; an invisible link over everything goes back */
    ".zoom .close{display:none}.zoom:target img{position:fixed;inset:0;width:100vw;height:100vh;"
    "object-fit:contain;background:var(--page);z-index:2;border-radius:0}"
    ".zoom:target .close{display:block;position:fixed;inset:0;z-index:3;cursor:zoom-out}.zoom "
    "a{cursor:zoom-in}"
    /* the slider: the bar scrolls `inner`, which is twice as wide; both pictures stay, the cover does not */
    ".slider{overflow-x:scroll;scrollbar-width:auto;scrollbar-color:var(--accent) "
    "var(--soft);border-radius:4px}"
    ".slider .inner{position:relative;width:200%}"
    ".slider img{position:sticky;left:0;width:50%;border-radius:0}"
    ".slider .cover{position:absolute;inset:0;clip-path:inset(0 50% 0 0)}"
    /* differences: white is 0; in the dark, black is */
    ".scale{display:flex;align-items:center;gap:.5em}.scale i{flex:1;height:.8em;border:1px solid "
    "var(--line);"
    "background:linear-gradient(90deg,rgb(33,77,191),#fff,rgb(191,20,38))}"
    "@media(prefers-color-scheme:dark){.difference img,.scale i{filter:invert(1) hue-rotate(180deg)}}"
    /* curves */
    ".chart{max-width:720px}svg{width:100%;height:auto;background:var(--soft);border-radius:6px;display:"
    "block}"
    "svg text{font-size:12px;fill:var(--quiet)}svg .axis{font-size:12px;font-weight:600}"
    "polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}.faint{stroke-width:1;opacity:.55}"
    ".grid{stroke:var(--line);stroke-width:.7}.truth{stroke-width:1;stroke-dasharray:4 4;opacity:.75}"
    ".hover rect{fill:transparent}.hover line{stroke:var(--quiet)}"
    ".hover line,.hover text{visibility:hidden;pointer-events:none}"
    ".hover:hover line,.hover:hover text{visibility:visible}"
    ".hover text{font-weight:600;paint-order:stroke;stroke:var(--page);stroke-width:3px}"
    ".key{white-space:nowrap;margin-left:.8em}.key i,.swatch{display:inline-block;width:.9em;height:.9em;"
    "border-radius:2px;margin-right:.3em;vertical-align:-.08em;border:1px solid var(--line)}"
    /* tables */
    ".scroll{overflow-x:auto}table{margin-top:.8em;border-collapse:collapse;font-variant-numeric:tabular-"
    "nums}"
    "td,th{padding:.15em 1.2em .15em 0;text-align:left;font-weight:normal;vertical-align:top;"
    "overflow-wrap:normal}tr:first-child th,.pairs th{color:var(--quiet)}.values td{white-space:nowrap}"
    ".pairs td{overflow-wrap:anywhere}"
    "pre{background:var(--soft);padding:.7em 1em;border-radius:6px;overflow:auto;font-size:.88em;"
    "white-space:pre-wrap}"
    /* narrow pages */
    "@media(max-width:900px){.pictures{grid-template-columns:repeat(2,minmax(0,1fr))}}"
    "@media(max-width:600px){body{margin:1em auto;padding:0 .8em}.pictures,.charts{grid-template-columns:"
    "minmax(0,1fr)}svg text,svg .axis{font-size:17px}.card{flex:1 1 40%}}";
