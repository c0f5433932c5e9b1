// Compiles the regular expressions that it reads, each ended by a NUL.
import { readFileSync } from "node:fs";

for (const pattern of readFileSync(0, "utf8").split("\0").slice(0, -1)) new RegExp(pattern, "u");
