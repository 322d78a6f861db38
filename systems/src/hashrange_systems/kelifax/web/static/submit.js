// Improvements of the submission form: counters, more rows, a look for duplicates while typing, and the proof of work.
"use strict";

for (const field of document.querySelectorAll("[data-longest]")) {
  const count = document.createElement("span");
  count.className = "count number";
  count.setAttribute("aria-hidden", "true");
  const show = () => { count.textContent = [...field.value.trim()].length + " / " + field.dataset.longest; };
  field.addEventListener("input", show);
  show();
  document.querySelector(`label[for="${field.id}"]`)?.append(" ", count);
}

for (const list of document.querySelectorAll("[data-most]")) { // rows that are empty and not needed yet are hidden
  const rows = [...list.children];
  const isEmpty = (row) => [...row.querySelectorAll("input")].every((input) => !input.value);
  let shown = Math.max(Number(list.dataset.first), rows.findLastIndex((row) => !isEmpty(row)) + 1);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = list.dataset.add;
  const show = () => {
    rows.forEach((row, at) => { row.hidden = at >= shown; });
    button.hidden = shown >= rows.length;
  };
  button.addEventListener("click", () => {
    shown += 1;
    show();
    rows[shown - 1].querySelector("input").focus();
  });
  list.after(button);
  show();
}

const notice = document.querySelector("[data-preflight]");
if (notice) {
  const inputs = ["resource.resourceName", "resource.resourceUrl"].map((name) => document.getElementsByName(name)[0]);
  let timer, asked = 0;
  const ask = async () => {
    const mine = ++asked;
    const query = new URLSearchParams({ name: inputs[0].value, url: inputs[1].value });
    const response = await fetch(notice.dataset.preflight + "?" + query).catch(() => null);
    if (mine === asked && response?.ok) notice.innerHTML = await response.text(); // our own page, escaped by the server
  };
  inputs.forEach((input) => input?.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 400); }));
}

const file = document.querySelector("input[type=file][data-preview]");
if (file) {
  file.addEventListener("change", () => {
    const holder = document.getElementById(file.dataset.preview);
    const chosen = file.files[0];
    if (!holder || !chosen) return;
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const image = new Image();
      image.alt = "The chosen logo";
      image.src = reader.result;
      holder.replaceChildren(image);
    });
    reader.readAsDataURL(chosen);
  });
}
