"""Keeps AI agents from wasting their calls in loops: reminds the model of repeated tool calls, and enforces quotas.

    from loop_guard import Guard, Outcome, Status, ToolCall

    guard = Guard({"toolCallLimit": {"limits": {"web_search": 1}}})
    guard.step("main", turn=1, step=1, prompted=True)
    call = ToolCall(agent="main", id="1", name="web_search", arguments='{"q": "wasm"}')
    decision = guard.pre_execute(call)
    notices = guard.post_execute(call, Outcome(Status.SUCCEEDED))

``loop_guard.langchain`` and ``loop_guard.openai_agents`` are ready-made hosts.
"""

from ._component import Component
from ._errors import CallError, ConfigurationError, LoadError, LoopGuardError, RestoreError
from ._guard import Guard
from ._limits import Limits
from ._types import Allow, Ask, Decision, Deny, Event, Needs, Notice, Outcome, Problem, Stat, Status, ToolCall

__all__ = [
    "Allow",
    "Ask",
    "CallError",
    "Component",
    "ConfigurationError",
    "Decision",
    "Deny",
    "Event",
    "Guard",
    "Limits",
    "LoadError",
    "LoopGuardError",
    "Needs",
    "Notice",
    "Outcome",
    "Problem",
    "RestoreError",
    "Stat",
    "Status",
    "ToolCall",
]
