"""The verb that says what axnb knows of secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from axnb.cli.options import settings_option
from axnb.text import safe


@click.command()
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Write it as JSON.")
def secrets(settings: Path | None, as_json: bool) -> int:
    """Say what is taken for a secret.

    The kinds, with those of axnb.toml, the fields in which no token is looked for, and what looks.
    """
    from axnb.secrets.listing import covered
    from axnb.settings import Settings

    found = covered(Settings.read(settings).secrets)
    click.echo(json.dumps(found, indent=2) if as_json else _page(found))
    return 0


def _page(found: dict[str, Any]) -> str:
    lines = ["Kinds:"]
    for kind in found["kinds"]:
        more = "; also masked in the middle" if kind["may_be_partial"] else ""
        lines.append(f"  {kind['name']}: {safe(kind['about'])}{more}")
        lines.append(f"    begins at {', '.join(kind['anchors']) or 'its own expression'}")
    looked = "looked into all the same (include_excluded)" if found["include_excluded"] else ""
    lines += ["", f"No tokens are looked for in{': ' + looked if looked else ':'}"]
    lines += [f"  {one['name']}: {one['about']}" for one in found["excluded"]]
    lines += ["", f"Engine: {found['engine']}"]
    return "\n".join(lines)
