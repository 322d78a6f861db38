// Resolves the package-lock.json of each folder again. Lock files name no host: neither a registry's (.npmrc) nor a sponsor's page.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [command, ...folders] = process.argv.slice(2); // "install" keeps the locked versions where they fit, "update" takes the newest
for (const folder of folders) {
  execFileSync("npm", [command, "--package-lock-only", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder], { stdio: "inherit" });
  const path = `${folder}/package-lock.json`;
  const lock = JSON.parse(readFileSync(path, "utf8"));
  for (const entry of Object.values(lock.packages)) delete entry.funding;
  writeFileSync(path, JSON.stringify(lock, null, 2) + "\n");
}
