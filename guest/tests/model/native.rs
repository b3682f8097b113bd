//! The guard as it is, to be driven beside the model.

use loop_guard_guest::guard::{Decision, Guard};

use crate::model::{AGENTS, Hook, Reply, Subject, TOOLS, VALUES};

impl Subject for Guard {
    fn call(&mut self, hook: &Hook) -> Reply {
        match *hook {
            Hook::Step { agent, turn, step, prompted } => self.step(AGENTS[agent], turn, step, prompted),
            Hook::Pre { agent, tool } => {
                return match self.pre_execute(agent.map(|agent| AGENTS[agent]), TOOLS[tool]) {
                    Decision::Allow => Reply::Allow,
                    Decision::Deny(reason) => Reply::Deny(reason),
                    Decision::Ask(reason) => Reply::Ask(reason),
                };
            }
            Hook::Post { agent, tool, value, spelling } => {
                let notice = self.post_execute(
                    agent.map(|agent| AGENTS[agent]),
                    TOOLS[tool],
                    VALUES[value][spelling].to_owned(),
                );
                return Reply::Notices(notice.map(|notice| (notice.summary, notice.text)).into_iter().collect());
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
}
