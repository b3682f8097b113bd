//! The guard as it is, to be driven beside the model.

use loop_guard_guest::guard::{AgentStats, Call, Decision, Guard, Outcome, Status};

use crate::model::{AGENTS, Hook, Reply, Stats, Subject, TOOLS, VALUES};

impl Subject for Guard {
    fn call(&mut self, hook: &Hook) -> Reply {
        let call = |agent: Option<usize>, tool: usize, arguments: &str| Call {
            agent: agent.map(|agent| AGENTS[agent].to_owned()),
            id: "1".to_owned(),
            name: TOOLS[tool].to_owned(),
            arguments: arguments.to_owned(),
        };
        match *hook {
            Hook::Step { agent, turn, step, prompted } => self.step(AGENTS[agent], turn, step, prompted),
            Hook::Pre { agent, tool } => {
                return match self.pre_execute(call(agent, tool, "")) {
                    Decision::Allow => Reply::Allow,
                    Decision::Deny(reason) => Reply::Deny(reason),
                    Decision::Ask(reason) => Reply::Ask(reason),
                };
            }
            Hook::Post { agent, tool, value, spelling } => {
                // R2: whatever the outcome.
                let status = [Status::Succeeded, Status::Failed, Status::Denied][spelling];
                let outcome = Outcome { status, content: "done".to_owned() };
                let notices = self.post_execute(call(agent, tool, VALUES[value][spelling]), outcome);
                return Reply::Notices(notices.into_iter().map(|notice| (notice.summary, notice.text)).collect());
            }
            Hook::StepAborted { agent, turn, step } => self.step_aborted(AGENTS[agent], turn, step),
            Hook::TurnEnded { agent, turn } => self.turn_ended(AGENTS[agent], turn),
            Hook::AgentEnded { agent } => self.agent_ended(AGENTS[agent]),
        }
        Reply::Nothing
    }

    fn count(&mut self, agent: &str) -> u32 {
        Guard::count(self, agent)
    }

    fn stats(&mut self) -> Vec<Stats> {
        let stats = |AgentStats { agent, stats }: AgentStats| Stats {
            agent,
            calls: stats.calls,
            notices: stats.notices,
            asks: stats.asks,
            denials: stats.denials,
            longest: stats.longest(),
            summary: stats.summary(),
        };
        Guard::stats(self).into_iter().map(stats).collect()
    }
}
