#include "cli/report/page_look.h"

namespace cerberus::cli {

// All colours of text have a contrast of 4.5 to 1 at least with what is behind
// them, those of bars and borders of controls 3 to 1 (WCAG 2.2, 1.4.3, 1.4.11).
const char kPageStyle[] = R"css(
:root {
  color-scheme: light dark;
  --back: #fff; --band: #f3f5f7; --text: #1b1f24; --soft: #57606a;
  --line: #d0d7de; --edge: #6e7781; --link: #0550ae;
  --code: #0969da; --data: #bc4c00;
  --good: #116329; --part: #7d4e00; --bad: #a40e26;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1319; --band: #1a2029; --text: #e8ecf1; --soft: #a5b0bd;
    --line: #343d49; --edge: #8b96a3; --link: #79b8ff;
    --code: #58a6ff; --data: #f0883e;
    --good: #56d364; --part: #e3b341; --bad: #ff9492;
  }
}
* { box-sizing: border-box; }
html { background: var(--back); color: var(--text); }
body {
  font: 100%/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 90rem;
  padding: 0 1rem 2rem; overflow-wrap: anywhere;
}
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { position: static; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1.5rem 0 .5rem; }
h2 {
  border-top: 1px solid var(--line); font-size: 1.25rem; line-height: 1.3;
  margin: 2.5rem 0 .5rem; padding-top: 1rem;
}
p { margin: .5rem 0; max-width: 75ch; }
bdi, code { font-family: ui-monospace, monospace; font-size: .92em; }
.soft, .none { color: var(--soft); }
.state {
  background: var(--band); border-left: .4rem solid; border-radius: .2rem;
  padding: .6rem 1rem; max-width: none;
}
.good { color: var(--good); } .part { color: var(--part); }
.bad { color: var(--bad); }
.state span { color: var(--text); }
nav ul {
  display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none;
  margin: 1rem 0 0; padding: 0;
}
nav a { display: inline-block; padding: .2rem 0; }
dl {
  display: grid; gap: .2rem 1.5rem; margin: 1rem 0;
  grid-template-columns: max-content minmax(0, 1fr);
}
dt { color: var(--soft); } dd { margin: 0; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .92rem; min-width: 40%; }
caption { color: var(--soft); padding: .3rem 0; text-align: left; }
th, td {
  border-bottom: 1px solid var(--line); padding: .35rem .7rem;
  overflow-wrap: normal; text-align: left; vertical-align: top;
}
td { min-width: 7rem; } td.n { min-width: 0; }
td bdi, tbody th { overflow-wrap: anywhere; }
td:has(bdi) { min-width: 9rem; }
thead th { background: var(--band); vertical-align: bottom; }
tbody th { font-weight: normal; min-width: 16rem; }
tbody tr:hover { background: var(--band); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n, .key { white-space: nowrap; }
.warn { color: var(--part); font-weight: 600; }
.kernels { min-width: 100%; }
.kernels tbody th { max-width: 46rem; }
summary { cursor: pointer; }
th button {
  background: none; border: 0; color: inherit; cursor: pointer; font: inherit;
  padding: 0; text-align: inherit; text-decoration: underline dotted;
  text-underline-offset: .25em;
}
th button::after { content: " \2195"; color: var(--soft); }
[aria-sort=ascending] button::after { content: " \2191"; color: inherit; }
[aria-sort=descending] button::after { content: " \2193"; color: inherit; }
form {
  display: flex; flex-wrap: wrap; align-items: end; gap: .6rem 1rem;
  margin: 1rem 0;
}
form[hidden] { display: none; }
label { display: block; font-size: .9rem; }
input, select {
  background: var(--back); border: 1px solid var(--edge); border-radius: .25rem;
  color: inherit; font: inherit; max-width: 100%; padding: .35rem .5rem;
}
input { width: 24rem; }
svg { display: block; max-width: 48rem; margin: 1rem 0; }
svg text { fill: var(--text); font: .92rem system-ui, sans-serif; }
.code { fill: var(--code); } .data { fill: var(--data); }
.key svg { display: inline-block; margin: 0 .4em 0 0; }
ul.plain { list-style: none; margin: .5rem 0; padding: 0; }
ul.plain li { margin: .15rem 0; }
footer {
  border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem;
  margin-top: 3rem; padding-top: .5rem;
}
@media (max-width: 36rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .5rem; }
  input, form div { width: 100%; }
  tbody th { min-width: 12rem; }
  .kernels tbody th { max-width: 14rem; }
  table { min-width: 100%; }
  th, td { padding: .35rem .5rem; }
}
@media (forced-colors: active) {
  .code, .data { fill: CanvasText; forced-color-adjust: none; }
  .data { fill: GrayText; }
}
@media print {
  :root {
    --back: #fff; --band: #fff; --text: #000; --soft: #333; --line: #999;
    --edge: #333; --link: #000; --code: #555; --data: #aaa;
    --good: #000; --part: #000; --bad: #000;
  }
  @page { size: landscape; margin: 1cm; }
  body { max-width: none; font-size: 9pt; }
  nav, form, .skip { display: none; }
  .scroll { overflow: visible; }
  th button::after { content: none; }
  th button { text-decoration: none; }
  tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  details::details-content { content-visibility: visible; display: block; }
}
)css";

const char kPageScript[] = R"js(
'use strict';
// The value by which a cell is sorted.
const valueOf = (cell, isNumber) => {
  const text = cell.textContent;
  // Thousands stand apart.
  return isNumber ? parseFloat(text.replaceAll('\u202f', '')) || 0 :
                    text.toLowerCase();
};
const compare = (a, b) => a < b ? -1 : a > b ? 1 : 0;

for (const table of document.querySelectorAll('table.sort')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    const isNumber = head.classList.contains('n');
    button.addEventListener('click', () => {
      const was = head.getAttribute('aria-sort');
      // Of numbers the large ones are asked for first.
      const up = was ? was === 'descending' : !isNumber;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const rows = [...body.rows].map(
          row => [valueOf(row.cells[column], isNumber), row]);
      rows.sort((a, b) => up ? compare(a[0], b[0]) : compare(b[0], a[0]));
      const sorted = document.createDocumentFragment();
      for (const [, row] of rows) sorted.append(row);
      body.append(sorted);
    });
  });
}

const form = document.getElementById('find');
if (form) {
  form.hidden = false;
  const [words, target] = [form.elements.words, form.elements.target];
  const count = document.getElementById('found');
  const body = document.querySelector('table.kernels').tBodies[0];
  const rows = [...body.rows].map(row => ({
    row, text: row.textContent.toLowerCase(), target: row.cells[2].textContent
  }));
  const search = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(word => word);
    let shown = 0;
    for (const {row, text, target: of} of rows) {
      const fits = (!target.value || of === target.value) &&
          wanted.every(word => text.includes(word));
      if (row.hidden === fits) row.hidden = !fits;
      if (fits) ++shown;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  let waiting;
  form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  form.addEventListener('submit', event => {
    event.preventDefault();
    search();
  });
  search();
}

addEventListener('beforeprint', () => {
  for (const part of document.querySelectorAll('details')) part.open = true;
});
)js";

}  // namespace cerberus::cli
