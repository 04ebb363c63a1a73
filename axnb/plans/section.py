"""A plan and its sections: plain data, and the text of the script."""

from __future__ import annotations

from dataclasses import dataclass

from axnb.plans.literals import comment
from axnb.plans.render import as_comment, put_off
from axnb.text import count


@dataclass(frozen=True)
class Section:
    """What to do about one conversation, or about a whole log (action `migrate`).

    `statements` and `undo` run after `Plan.head`; both are empty where only a person can act.
    """

    number: int
    source: str
    conversation_ids: tuple[str, ...]
    action: str
    findings: tuple[str, ...]
    #: What it does, what it costs and what a person does first: a sentence or a line each.
    notes: tuple[str, ...]
    statements: str = ""
    undo: str = ""
    #: Must a person read calls back first? Then the statements stand in the text as comments.
    waits: bool = False

    @property
    def text(self) -> str:
        """The section as it stands in a plan."""
        names = ", ".join(comment(name, 60) for name in self.conversation_ids[:3])
        whom = f"conversation {names}"
        if len(self.conversation_ids) > 3:
            whom = f"{count(len(self.conversation_ids), 'conversation')} ({names}, …)"
        why = f" ({', '.join(self.findings)})" if self.findings else ""
        title = f"-- {self.number}. {self.action}: {whom}{why}\n"
        parts = [title, as_comment(self.notes)]
        if self.statements and self.waits:
            mark = f"--run {self.number}>"
            parts.append(as_comment([f"Then run the lines marked {mark} as said at the top."]))
            parts.append(put_off(self.statements, mark))
        else:
            parts.append(self.statements)
        if self.undo:
            parts.append(put_off(self.undo, f"--undo {self.number}>"))
        return "".join(parts)


@dataclass(frozen=True)
class Plan:
    """A plan for one store; `text` is the script."""

    dialect: str
    #: Comments on how to run it.
    preface: str
    #: Statements that those of every section need.
    head: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The whole script, with a line end."""
        head = f"-- head\n{self.head}-- end of head\n" if self.head else ""
        return "\n".join(filter(None, (self.preface, head, *(s.text for s in self.sections))))
