"""Each block of Python in the README runs."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from agents import set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message
from langchain_core.messages import AIMessage
from support import ROOT
from test_langchain import ScriptedModel as LangChainModel

set_tracing_disabled(True)

BLOCKS = re.findall(
    r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S
)

PRINTED = {
    "LangChain": "",
    "OpenAI Agents SDK": "",
    "Your own host": "",
    "Beyond reminders and quotas per step": "grep × 3\ngrep × 3\n",
    "Errors": "/maxAgents must be an integer >= 1\n"
    "/repeatToolReminder/thresholds must not be empty\n"
    "pre-execute arguments: 2000000 bytes, and no text of more than 1048576 is sent\n",
}


def test_the_blocks_are_found() -> None:
    assert [section for section, _ in BLOCKS] == list(PRINTED)


@pytest.mark.parametrize(("section", "code"), BLOCKS, ids=[section for section, _ in BLOCKS])
def test_block(section: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    models: dict[str, Any] = {
        "LangChain": LangChainModel(script=[AIMessage("done")]),
        "OpenAI Agents SDK": ScriptedModel([[assistant_message("done")]]),
    }
    names: dict[str, Any] = {"model": models.get(section)}
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        exec(compile(code, f"README.md: {section}", "exec"), names)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert capsys.readouterr().out == PRINTED[section]
    if section in models:
        assert "done" in str(names["result"])
