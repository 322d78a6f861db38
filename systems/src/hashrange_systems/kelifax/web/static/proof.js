// Solves the proof of work of a form in the background: finds the number whose SHA-256 with the salt is the challenge.
"use strict";

const K = new Uint32Array(64), START = new Uint32Array(8);
for (let found = 0, n = 2; found < 64; n += 1) {
  let prime = true;
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) { prime = false; break; }
  if (!prime) continue;
  const part = (root) => ((root - Math.floor(root)) * 4294967296) >>> 0;
  if (found < 8) START[found] = part(Math.sqrt(n));
  K[found] = part(Math.cbrt(n));
  found += 1;
}

function sha256(text) {
  const bytes = new TextEncoder().encode(text), blocks = ((bytes.length + 8) >> 6) + 1;
  const data = new Uint8Array(blocks * 64), view = new DataView(data.buffer), w = new Uint32Array(64);
  data.set(bytes);
  data[bytes.length] = 0x80;
  view.setUint32(data.length - 4, bytes.length * 8);
  const h = START.slice();
  const turn = (x, by) => (x >>> by) | (x << (32 - by));
  for (let at = 0; at < data.length; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = view.getUint32(at + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, z] = h;
    for (let i = 0; i < 64; i += 1) {
      const one = (z + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      z = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, z].forEach((value, i) => { h[i] += value; });
  }
  return [...h].map((part) => part.toString(16).padStart(8, "0")).join("");
}

function solve(challenge, done, from = 0) {
  const most = challenge.maxNumber ?? challenge.maxnumber;
  const until = Math.min(from + 500, most + 1);
  for (let number = from; number < until; number += 1) {
    if (sha256(challenge.salt + number) === challenge.challenge) return done(number);
  }
  if (until <= most) setTimeout(solve, 0, challenge, done, until);
}

for (const input of document.querySelectorAll("input[data-challenge]")) {
  const challenge = JSON.parse(input.dataset.challenge);
  const form = input.form, state = form.querySelector("[data-proof]");
  let solved = false, waiting = null;
  if (state) state.textContent = "Checking that you are not a program…";
  solve(challenge, (number) => {
    const { algorithm, salt, signature } = challenge;
    input.value = btoa(JSON.stringify({ algorithm, challenge: challenge.challenge, number, salt, signature }));
    solved = true;
    if (state) state.textContent = "Checked: you are not a program.";
    if (waiting) form.requestSubmit(waiting);
  });
  form.addEventListener("submit", (event) => {
    if (solved || (event.submitter && event.submitter.hasAttribute("data-unproven"))) return;
    event.preventDefault();
    waiting = event.submitter;
  });
}
