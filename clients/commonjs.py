"""Writes the CommonJS files of the Node.js client from its ES module: `make client-types` runs it; a test compares."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "node"
_MADE = "// Made by clients/commonjs.py: do not edit.\n"
_IS_MAIN = "process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)"


def module(text: str) -> str:
    """An ES module whose imports and exports are named, as CommonJS. Raises ValueError where anything else is left."""
    text = text.replace(_IS_MAIN, "require.main === module")
    names = re.findall(r"^export (?:async )?(?:function|class) (\w+)", text, re.MULTILINE)
    text = re.sub(r"^export (?=async |function |class )", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^import \{(.+)\} from (\".+\");$",
        lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = require({found[2]});",
        text,
        flags=re.MULTILINE,
    )
    if left := re.search(r"^(import|export) |import\.meta", text, re.MULTILINE):
        raise ValueError(f"not translated: {left[0]}")
    return f'{_MADE}"use strict";\n\n{text}\nmodule.exports = {{ {", ".join(names)} }};\n'


def texts() -> dict[Path, str]:
    """The text of each file."""
    declarations = {
        FOLDER / f"{name}.d.cts": _MADE + (FOLDER / f"{name}.d.mts").read_text().replace(".mjs", ".cjs")
        for name in ("psi", "types")
    }
    return {FOLDER / "psi.cjs": module((FOLDER / "psi.mjs").read_text())} | declarations


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
