// Improvements of the public pages: results while a search is typed, filters that apply at once. None is needed.
"use strict";

function makeInstantSearch(box) {
  const input = box.querySelector("input[name=q]");
  const panel = document.createElement("div");
  const status = document.createElement("p");
  panel.className = "instant";
  panel.id = input.id + "-results";
  panel.hidden = true;
  status.className = "hidden";
  status.setAttribute("role", "status");
  box.append(panel, status);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", panel.id);
  input.setAttribute("aria-autocomplete", "list");
  let asked = 0, chosen = -1, timer;

  const links = () => [...panel.querySelectorAll("a")];
  const close = () => {
    panel.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (step) => {
    const all = links();
    if (!all.length) return;
    chosen = (chosen + step + all.length + (chosen < 0 && step < 0 ? 1 : 0)) % all.length;
    all.forEach((link, at) => link.setAttribute("aria-selected", String(at === chosen)));
    input.setAttribute("aria-activedescendant", all[chosen].id);
  };
  const ask = async () => {
    const text = input.value.trim(), mine = ++asked;
    if (!text) return close();
    const response = await fetch(box.dataset.instant + "?q=" + encodeURIComponent(text)).catch(() => null);
    if (mine !== asked || !response || !response.ok) return;
    panel.innerHTML = await response.text(); // our own page, escaped by the server
    links().forEach((link, at) => {
      link.id = panel.id + "-" + at;
      link.setAttribute("role", "option");
      link.setAttribute("tabindex", "-1");
    });
    panel.querySelector("ul")?.setAttribute("role", "listbox");
    panel.querySelectorAll("li").forEach((item) => item.setAttribute("role", "presentation"));
    chosen = -1;
    panel.hidden = false;
    input.setAttribute("aria-expanded", "true");
    status.textContent = panel.querySelector("[data-status]")?.dataset.status ?? "";
  };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 90); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && !panel.hidden) { event.preventDefault(); choose(1); }
    else if (event.key === "ArrowUp" && !panel.hidden) { event.preventDefault(); choose(-1); }
    else if (event.key === "Escape") { if (!panel.hidden) event.preventDefault(); close(); }
    else if (event.key === "Enter" && chosen >= 0) { event.preventDefault(); links()[chosen].click(); }
  });
  box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) close(); });
}

document.querySelectorAll("[data-instant]").forEach(makeInstantSearch);

document.addEventListener("keydown", (event) => {
  const typing = /^(input|textarea|select)$/i.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    const input = document.querySelector("[data-instant] input");
    if (input) { event.preventDefault(); input.focus(); input.select(); }
  }
});

for (const form of document.querySelectorAll("form[data-auto]")) { // filters apply when they change
  form.addEventListener("change", () => form.requestSubmit());
}

if (matchMedia("(min-width: 60rem)").matches) { // there is room beside the list
  document.querySelectorAll("details[data-wide]").forEach((details) => { details.open = true; });
}
