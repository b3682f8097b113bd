//! Runs one tool call the way the contract demands.

use crate::error::{CallError, Fault};
use crate::guard::Guard;
use crate::types::{Decision, Event, Notice, Outcome, Status, ToolCall};

/// What a host decides itself about a call, later than the guard. Each method has a default: nobody can
/// be asked, every call may run, and every result is accepted.
pub trait Policy {
    /// Asks a person whether a call may run, and shows the reason why it is asked.
    fn ask(&self, _call: &ToolCall<'_>, _reason: &str) -> bool {
        false
    }

    /// Whether a call that the guard allows may run.
    fn before(&self, _call: &ToolCall<'_>) -> Decision {
        Decision::Allow
    }

    /// What becomes of a call's result. It is asked about denied calls, too.
    fn after(&self, _call: &ToolCall<'_>, _outcome: &Outcome<'_>) -> Review {
        Review::default()
    }
}

/// What a policy makes of a call's result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// What becomes of the result.
    pub verdict: Verdict,
    /// What else the model should be told, each in a message of its own after all results of the step.
    pub additions: Vec<String>,
}

/// What becomes of a call's result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The model sees it as it is.
    #[default]
    Accept,
    /// The model sees this instead.
    Replace(String),
    /// The model sees this feedback instead, and the call counts as blocked.
    Block(String),
}

/// What came of a call.
#[derive(Debug)]
pub struct Report {
    /// How the call ended, as the guard was told.
    pub status: Status,
    /// The result that the model sees.
    pub result: String,
    /// Whether a policy blocked the result.
    pub blocked: bool,
    /// Messages to append after all results of the step, before the next model request: the guard's
    /// notices first (R14). Those of several calls follow each other in the order of the calls.
    pub additions: Vec<Addition>,
    /// What went wrong with the guard itself. The call has been handled all the same; see [`Pipeline`].
    pub faults: Vec<CallError>,
}

/// A message to append after all results of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addition {
    /// From the guard.
    Notice(Notice),
    /// From a policy of the host.
    Policy(String),
}

/// Runs tool calls: the guard's pre-execute, the host's own policy, the tool's body, the guard's
/// post-execute, and the policy's review of the result.
///
/// A fault of the guard does not stop a call of a tool that has no limit. A notice that could not be computed is
/// dropped (fail open); a call of a limited tool that could not be checked is denied (fail closed), and so is
/// one of which it cannot be found out whether its tool is limited. The faults are in [`Report::faults`].
///
/// It runs calls one at a time. A host that runs the calls of a step in parallel calls the [`Guard`] itself,
/// in the order that the contract names.
#[derive(Clone, Copy)]
pub struct Pipeline<'a> {
    guard: &'a Guard,
    policy: &'a dyn Policy,
}

struct NoPolicy;

impl Policy for NoPolicy {}

impl<'a> Pipeline<'a> {
    /// A pipeline in which the guard alone decides. Where it asks, nobody can be asked: that is a denial.
    pub fn new(guard: &'a Guard) -> Self {
        Self { guard, policy: &NoPolicy }
    }

    /// A pipeline with a policy of the host's own behind the guard.
    pub fn with_policy(guard: &'a Guard, policy: &'a dyn Policy) -> Self {
        Self { guard, policy }
    }

    /// Runs one call. `body` runs the tool, and gives its result or its failure, both as the text that the
    /// model sees; it does not run if anybody denies the call. A body that panics unwinds through here, and its
    /// call gets no post-execute.
    pub fn run(&self, call: &ToolCall<'_>, body: impl FnOnce() -> Result<String, String>) -> Report {
        let mut faults = Vec::new();
        let mut approved = false;
        let (status, result) = match self.permit(call, &mut approved, &mut faults) {
            Err(reason) => (Status::Denied, reason),
            Ok(()) => match body() {
                Ok(result) => (Status::Succeeded, result),
                Err(failure) => (Status::Failed, failure),
            },
        };
        if let Some(agent) = call.agent.filter(|_| approved) {
            faults.extend(self.guard.noted(agent, Event::Approved).err());
        }
        let outcome = Outcome { status, content: Some(&result) };
        let notices = self.guard.post_execute(call, &outcome).unwrap_or_else(|fault| {
            faults.push(fault);
            Vec::new()
        });
        let Review { verdict, additions } = self.policy.after(call, &outcome);
        let (result, blocked) = match verdict {
            Verdict::Accept => (result, false),
            Verdict::Replace(result) => (result, false),
            Verdict::Block(feedback) => (feedback, true),
        };
        let additions =
            notices.into_iter().map(Addition::Notice).chain(additions.into_iter().map(Addition::Policy)).collect();
        Report { status, result, blocked, additions, faults }
    }

    /// Whether the call may run; if not, why. `approved` becomes true if a person said so.
    fn permit(&self, call: &ToolCall<'_>, approved: &mut bool, faults: &mut Vec<CallError>) -> Result<(), String> {
        let decision = self.guard.pre_execute(call).unwrap_or_else(|fault| {
            let decision = self.unchecked(call, &fault.fault);
            faults.push(fault);
            decision
        });
        *approved |= self.settle(call, decision)?;
        *approved |= self.settle(call, self.policy.before(call))?;
        Ok(())
    }

    /// Whether a person had to approve the call; if it may not run, why.
    fn settle(&self, call: &ToolCall<'_>, decision: Decision) -> Result<bool, String> {
        match decision {
            Decision::Allow => Ok(false),
            Decision::Ask(reason) if self.policy.ask(call, &reason) => Ok(true),
            Decision::Ask(reason) | Decision::Deny(reason) => Err(reason),
        }
    }

    /// The decision on a call that the guard could not check.
    fn unchecked(&self, call: &ToolCall<'_>, fault: &Fault) -> Decision {
        if self.is_unlimited(call.name).unwrap_or(false) {
            return Decision::Allow;
        }
        Decision::Deny(format!("the limit of tool {} could not be checked: {fault}", call.name))
    }

    /// Whether no quota that is enforced concerns a tool; none if that cannot be told.
    fn is_unlimited(&self, tool: &str) -> Option<bool> {
        let explanation: serde_json::Value = serde_json::from_str(&self.guard.explain(tool).ok()?).ok()?;
        let limits = explanation.get("toolCallLimit")?.as_object()?;
        let has = |name: &&str| limits.get(*name).is_some_and(|limit| !limit.is_null());
        let is_limited = ["limit", "turnLimit", "agentLimit", "totals"].iter().any(has);
        let is_trial = explanation.get("observe").is_some();
        Some(is_trial || !is_limited)
    }
}

impl std::fmt::Debug for Pipeline<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pipeline").field("guard", self.guard).finish_non_exhaustive()
    }
}
