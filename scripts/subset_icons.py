"""Cut the icon font of the admin theme down to the icons that its pages use: 292 kB become about 10.

    pip install fonttools brotli && python scripts/subset_icons.py

Run it after icons were added or the theme was updated. Icons are words in templates and Python files that the font
has a ligature for; `icons.txt` beside the font lists them, and tests/house checks that none is missing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import unfold
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[1]
THEME = Path(unfold.__file__).parent
FOLDER = "unfold/fonts/material-symbols"
FONT = THEME / "static" / FOLDER / "Material-Symbols-Outlined.woff2"
TARGET = ROOT / "static" / FOLDER
WORD = re.compile(r"[a-z][a-z0-9_]+")


def ligatures(font: TTFont) -> dict[str, str]:
    """Name of an icon → its glyph."""
    characters = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    found = {}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for first, ligatures in table.ligatures.items():
                for one in ligatures:
                    found["".join(characters[glyph] for glyph in (first, *one.Component))] = one.LigGlyph
    return found


def words_used() -> set[str]:
    """Every word of the theme's templates and of our own templates, scripts and modules of the admin."""
    places = [
        *(THEME / "templates").rglob("*.html"),
        *(THEME / "templatetags").rglob("*.py"),
        *(THEME / "static" / "unfold" / "js").glob("*.js"),
        *(ROOT / "templates").rglob("*.html"),
        *(ROOT / "static" / "admin_ext").glob("*.js"),
        *(path for path in ROOT.glob("*/admin/*.py")),
        *ROOT.glob("*/admin.py"),
        ROOT / "ragsite" / "admin_menu.py",
        ROOT / "ragsite" / "settings" / "admin.py",
        *(ROOT / "ragsite" / "templatetags").glob("*.py"),
    ]
    return {word for path in places if path.exists() for word in WORD.findall(path.read_text(encoding="utf-8"))}


def main() -> None:
    font = TTFont(FONT)
    known = ligatures(font)
    icons = sorted(words_used() & known.keys())
    letters = sorted({glyph for code, glyph in font.getBestCmap().items() if code < 128})
    TARGET.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "fontTools.subset", str(FONT)),
            f"--glyphs={','.join([*letters, *(known[icon] for icon in icons)])}",
            *("--no-layout-closure", "--layout-features=*", "--flavor=woff2"),
            f"--output-file={TARGET / FONT.name}",
        ],
        check=True,
    )
    (TARGET / "icons.txt").write_text("\n".join(icons) + "\n", encoding="utf-8")
    (TARGET / "LICENSE").write_bytes((FONT.parent / "LICENSE").read_bytes())
    sys.stdout.write(f"{len(icons)} icons, {(TARGET / FONT.name).stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
