// The keyboard of moderators. In the queue: j and k move, a approves, r rejects, c claims, u undoes, o opens the page.
// In lists of cards j and k move from card to card, and a, r and o are about the card that has the focus, or the first.
"use strict";

const cards = [...document.querySelectorAll("[data-row]")];
const focused = () => document.activeElement?.closest("[data-row]");
const find = (name) => (focused() ?? cards[0] ?? document).querySelector(`[data-key=${name}]`);
const move = (by, name) => {
  if (cards.length) cards[Math.max(0, Math.min(cards.length - 1, cards.indexOf(focused()) + by))].focus();
  else find(name)?.click();
};

const keys = {
  j: () => move(1, "next"),
  k: () => move(-1, "previous"),
  a: () => find("approve")?.click(),
  c: () => find("claim")?.click(),
  u: () => find("undo")?.click(),
  o: () => find("open")?.click(),
  r: () => {
    const reason = find("reason");
    reason?.closest("details")?.setAttribute("open", "");
    if (reason) reason.focus();
    else find("reject")?.click();
  },
};

// In the box of a reason: Ctrl and Enter send it, Escape closes it.
const leave = (event, box) => {
  if (event.key === "Escape") {
    box.removeAttribute("open");
    box.querySelector("summary")?.focus();
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
};

document.addEventListener("keydown", (event) => {
  const box = event.target.closest?.("details.sure[open]");
  if (box) leave(event, box);
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
