// What pages do beyond HTML, and without which they work as well: local times, live lists, copying.
"use strict";

const DAY = 86_400_000;

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
    const recent = Math.abs(Date.now() - at) < DAY / 2;
    const style = recent ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" };
    time.textContent = at.toLocaleString(undefined, style);
  }
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

async function refresh(part) {
  const busy = document.hidden || part.contains(document.activeElement) || part.querySelector("details[open]");
  if (busy) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
  if (!fresh) return;
  part.replaceChildren(...fresh.childNodes);
  showLocalTimes(part);
}

showLocalTimes(document);
offerCopying(document);
for (const part of document.querySelectorAll("[data-refresh]")) {
  setInterval(() => refresh(part).catch(() => {}), Number(part.dataset.refresh) * 1000);
}
