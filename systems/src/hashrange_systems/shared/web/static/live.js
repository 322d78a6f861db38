// What pages do beyond HTML, and without which they work as well: local times, live lists, copying, exploring plots.
"use strict";

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
    const today = at.toDateString() === new Date().toDateString();
    const style = today ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" };
    time.textContent = at.toLocaleString(undefined, style);
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const note of root.querySelectorAll(".plot .zone")) note.textContent = zone;
  for (const tick of root.querySelectorAll(".plot text[data-at]")) tick.textContent = formatTick(tick);
}

function formatTick(tick) {
  const at = new Date(Number(tick.dataset.at));
  const midnight = at.getHours() === 0 && at.getMinutes() === 0;
  const style = tick.dataset.show === "date" || midnight ? { day: "numeric", month: "short" } : { timeStyle: "short" };
  return at.toLocaleString(undefined, style);
}

function offerCopying(root) {
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
    });
  }
}

// A button says what it does: its label follows a checkbox.
function followCheckboxes(root) {
  for (const box of root.querySelectorAll("input[data-labels]")) {
    const button = document.getElementById(box.dataset.labels);
    const label = () => { button.textContent = box.checked ? button.dataset.checked : button.dataset.unchecked; };
    box.addEventListener("change", label);
    label();
  }
}

// A plot is explored with the pointer, a finger or the arrow keys; what is there is shown and read out below it.
function offerExploring(root) {
  for (const plot of root.querySelectorAll("[data-explore]")) {
    const readout = document.getElementById(plot.getAttribute("aria-describedby"));
    const places = () => [...plot.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width)
      .flatMap((svg) => [...svg.querySelectorAll(".hint, .bars > rect, :scope.bars > rect")]);
    const show = (place) => {
      for (const other of plot.querySelectorAll(".on")) other.classList.remove("on");
      readout.textContent = place ? describePlace(place) : "";
      place?.classList.add("on");
    };
    const nearest = (x) => places().reduce((best, place) => {
      const box = place.getBoundingClientRect();
      const away = Math.max(box.left - x, x - box.right, 0);
      return !best || away < best.away ? { place, away } : best;
    }, null)?.place;
    plot.addEventListener("pointermove", (event) => show(nearest(event.clientX)));
    plot.addEventListener("pointerdown", (event) => show(nearest(event.clientX)));
    plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
    plot.addEventListener("blur", () => show(null));
    plot.addEventListener("keydown", (event) => {
      const all = places();
      const at = all.findIndex((place) => place.classList.contains("on"));
      const next = { ArrowLeft: at < 0 ? all.length - 1 : at - 1, ArrowRight: at < 0 ? all.length - 1 : at + 1, Home: 0, End: all.length - 1 }[event.key];
      if (event.key === "Escape") show(null);
      if (next === undefined || !all.length) return;
      event.preventDefault();
      show(all[Math.min(Math.max(next, 0), all.length - 1)]);
    });
  }
}

function describePlace(place) {
  if (!place.dataset.at) return place.querySelector("title").textContent;
  const at = new Date(Number(place.dataset.at));
  return `${at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}: ${place.dataset.text}`;
}

async function refresh(part) {
  const busy = document.hidden || part.contains(document.activeElement) || part.querySelector("details[open], .on");
  if (busy) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
  if (!fresh) return;
  part.replaceChildren(...fresh.childNodes);
  showLocalTimes(part);
  offerExploring(part);
}

showLocalTimes(document);
offerCopying(document);
followCheckboxes(document);
offerExploring(document);
for (const part of document.querySelectorAll("[data-refresh]")) {
  setInterval(() => refresh(part).catch(() => {}), Number(part.dataset.refresh) * 1000);
}
