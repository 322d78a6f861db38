// What pages do beyond HTML, and without which they work as well: local times, live parts, copying, exploring plots.
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

// A part is replaced with what the server shows now, every few seconds. If that fails for a while, the page says since
// when: what is not refreshed must not look current.
const STALE_AFTER = 60_000;
const READ_FOR = 300_000; // by somebody who has the focus in the part, or something open there
const ANSWERED_WITHIN = 20_000;

function keepCurrent(part) {
  const every = Number(part.dataset.refresh) * 1000;
  const notice = document.createElement("div");
  notice.setAttribute("role", "status");
  part.before(notice);
  let since = Date.now();
  let failed = false;
  const step = async () => {
    if (document.hidden) return;
    if (!part.contains(document.activeElement) && !part.querySelector("details[open], .on")) {
      failed = !(await replacePart(part).catch(() => false));
      if (!failed) since = Date.now();
    }
    const stale = Date.now() - since > (failed ? Math.max(STALE_AFTER, 3 * every) : READ_FOR);
    if (stale !== notice.hasChildNodes()) notice.replaceChildren(...(stale ? [describeStale(since)] : []));
  };
  setInterval(step, every);
  document.addEventListener("visibilitychange", step);
}

function describeStale(since) {
  const note = document.createElement("div");
  const text = document.createElement("p");
  note.className = "note warn";
  text.textContent = `Not refreshed since ${new Date(since).toLocaleTimeString()}. What follows may be out of date.`;
  note.append(text);
  return note;
}

async function replacePart(part) {
  const options = { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(ANSWERED_WITHIN) };
  const answer = await fetch(part.dataset.from || location.href, options);
  if (!answer.ok || answer.redirected) return false;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = fresh.getElementById(part.id);
  if (!found) return false;
  part.replaceChildren(...found.childNodes);
  for (const other of document.querySelectorAll("[data-follow]")) follow(other, fresh.getElementById(other.id));
  showLocalTimes(document);
  offerExploring(part);
  return true;
}

// What follows is replaced only when it has changed, so that a notice is read out once.
const followed = new Map([...document.querySelectorAll("[data-follow]")].map((part) => [part.id, part.innerHTML]));

function follow(part, found) {
  if (!found || found.innerHTML === followed.get(part.id)) return;
  followed.set(part.id, found.innerHTML);
  part.replaceChildren(...found.childNodes);
}

showLocalTimes(document);
offerCopying(document);
offerExploring(document);
document.querySelectorAll("[data-refresh]").forEach(keepCurrent);
