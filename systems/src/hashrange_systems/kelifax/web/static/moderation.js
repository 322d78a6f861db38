// The keyboard of moderators: j and k move in the queue, a approves, r rejects, c claims, u undoes, o opens the page.
"use strict";

const keys = {
  j: () => document.querySelector("[data-key=next]")?.click(),
  k: () => document.querySelector("[data-key=previous]")?.click(),
  a: () => document.querySelector("[data-key=approve]")?.click(),
  c: () => document.querySelector("[data-key=claim]")?.click(),
  u: () => document.querySelector("[data-key=undo]")?.click(),
  o: () => document.querySelector("[data-key=open]")?.click(),
  r: () => {
    const reason = document.querySelector("[data-key=reason]");
    reason?.closest("details")?.setAttribute("open", "");
    reason?.focus();
  },
};

document.addEventListener("keydown", (event) => {
  const typing = /^(input|textarea|select)$/i.test(event.target.tagName) && event.target.type !== "checkbox";
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});

const all = document.querySelector("[data-select-all]");
if (all) {
  const boxes = () => [...document.querySelectorAll("input[name=slug]")];
  all.hidden = false;
  all.addEventListener("click", () => {
    const wanted = boxes().some((box) => !box.checked);
    boxes().forEach((box) => { box.checked = wanted; });
  });
}

for (const time of document.querySelectorAll("time[data-dated]")) { // always with the day: what waits may be old
  const at = new Date(time.dateTime);
  if (!Number.isNaN(at.getTime())) time.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
