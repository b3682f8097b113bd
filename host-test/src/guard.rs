//! A guard: one instance of a component, shared by the threads of a host.

use std::sync::{Mutex, MutexGuard};

use wasmtime::Store;

use crate::bindings::Plugin;
use crate::bindings::exports::loop_guard::plugin::guard as wit;
use crate::bindings::exports::loop_guard::plugin::introspection;
use crate::component::Component;
use crate::error::{CallError, ConfigureError, Fault, RestoreError};
use crate::instance::{Instance, Usage};
use crate::types::{Decision, Event, Needs, Notice, Outcome, Stat, Status, StepStart, ToolCall};

/// One instance of a component with a configuration. Its methods are the functions of the contract.
///
/// Threads may share it: calls are made one after another, so that no quota slot is taken twice. A call
/// blocks for as long as it takes: microseconds for usual arguments, seconds for megabytes.
///
/// Every method fails with a [`CallError`] when the component traps or goes beyond its
/// [`Limits`](crate::Limits); the guard can be used again at once.
pub struct Guard {
    component: Component,
    state: Mutex<State>,
}

struct State {
    config: Box<str>,
    needs: Needs,
    /// None after a fault, until the next call.
    instance: Option<Instance>,
}

impl Guard {
    pub(crate) fn new(component: Component, config: &str) -> Result<Self, ConfigureError> {
        check_texts(&component, "configure", &[("configuration", config)])?;
        let (instance, needs) = Instance::start(&component, config)?;
        let state = State { config: config.into(), needs, instance: Some(instance) };
        Ok(Self { component, state: Mutex::new(state) })
    }

    /// Puts another configuration in force, and forgets all state.
    ///
    /// # Errors
    ///
    /// All problems of the configuration, in which case nothing has changed; or a fault.
    pub fn configure(&self, config: &str) -> Result<Needs, ConfigureError> {
        check_texts(&self.component, "configure", &[("configuration", config)])?;
        let mut state = self.lock();
        let needs =
            state.with_instance(&self.component, "configure", |instance| match instance.configure(config) {
                // A rejection is an answer like any other.
                Err(ConfigureError::Call(fault)) => Err(fault),
                answer => Ok(answer),
            })??;
        state.config = config.into();
        state.needs = needs;
        Ok(needs)
    }

    /// A step is proposed for an agent, before its model request.
    ///
    /// # Errors
    ///
    /// A fault; the step is not active then.
    pub fn step(&self, step: &StepStart<'_>) -> Result<(), CallError> {
        let StepStart { agent, turn, step, prompted } = *step;
        let start = wit::StepStart { agent, turn, step, prompted };
        self.call("step", &[("agent", agent)], |plugin, store| plugin.loop_guard_plugin_guard().call_step(store, start))
    }

    /// A tool call is about to run.
    ///
    /// # Errors
    ///
    /// A fault. A host that enforces limits does not run the call then; [`Pipeline`](crate::Pipeline) sees to that.
    pub fn pre_execute(&self, call: &ToolCall<'_>) -> Result<Decision, CallError> {
        let answer = self.call("pre-execute", &texts(call), |plugin, store| {
            plugin.loop_guard_plugin_guard().call_pre_execute(store, to_wit(call))
        })?;
        Ok(match answer {
            wit::Decision::Allow => Decision::Allow,
            wit::Decision::Deny(reason) => Decision::Deny(reason),
            wit::Decision::Ask(reason) => Decision::Ask(reason),
        })
    }

    /// A tool call has reached an outcome.
    ///
    /// # Errors
    ///
    /// A fault; a notice that was due is lost.
    pub fn post_execute(&self, call: &ToolCall<'_>, outcome: &Outcome<'_>) -> Result<Vec<Notice>, CallError> {
        check_texts(&self.component, "post-execute", &texts(call))?;
        let mut state = self.lock();
        let content = outcome.content.filter(|_| state.needs.content);
        check_texts(&self.component, "post-execute", &[("content", content.unwrap_or_default())])?;
        let status = match outcome.status {
            Status::Succeeded => wit::Status::Succeeded,
            Status::Failed => wit::Status::Failed,
            Status::Denied => wit::Status::Denied,
        };
        let notices = state.run(&self.component, "post-execute", |plugin, store| {
            let outcome = wit::Outcome { status, content };
            plugin.loop_guard_plugin_guard().call_post_execute(store, to_wit(call), outcome)
        })?;
        let notice = |wit::Notice { plugin, summary, text }| Notice { plugin, summary, text };
        Ok(notices.into_iter().map(notice).collect())
    }

    /// The step that was begun last was rejected, failed to be prepared, or broke.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn step_aborted(&self, agent: &str, turn: u32, step: u32) -> Result<(), CallError> {
        self.call("step-aborted", &[("agent", agent)], |plugin, store| {
            plugin.loop_guard_plugin_guard().call_step_aborted(store, agent, turn, step)
        })
    }

    /// A turn has ended.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn turn_ended(&self, agent: &str, turn: u32) -> Result<(), CallError> {
        self.call("turn-ended", &[("agent", agent)], |plugin, store| {
            plugin.loop_guard_plugin_guard().call_turn_ended(store, agent, turn)
        })
    }

    /// An agent has ended; everything about it is forgotten.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn agent_ended(&self, agent: &str) -> Result<(), CallError> {
        self.call("agent-ended", &[("agent", agent)], |plugin, store| {
            plugin.loop_guard_plugin_guard().call_agent_ended(store, agent)
        })
    }

    /// Something happened to an agent that can end its chain, where the configuration says so (B8).
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn noted(&self, agent: &str, event: Event) -> Result<(), CallError> {
        let event = match event {
            Event::Compacted => wit::Event::Compacted,
            Event::Approved => wit::Event::Approved,
        };
        self.call("noted", &[("agent", agent)], |plugin, store| {
            plugin.loop_guard_plugin_guard().call_noted(store, agent, event)
        })
    }

    /// All counts of all agents, as bytes for [`restore`](Self::restore) (B8).
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn snapshot(&self) -> Result<Vec<u8>, CallError> {
        self.call("snapshot", &[], |plugin, store| plugin.loop_guard_plugin_resume().call_snapshot(store))
    }

    /// Goes on with the counts of a snapshot in place of those that there are (B8).
    ///
    /// # Errors
    ///
    /// Why it is refused, in which case nothing has changed; or a fault.
    pub fn restore(&self, snapshot: &[u8]) -> Result<(), RestoreError> {
        check_size(&self.component, "restore", "snapshot", snapshot.len())?;
        let answer = self.lock().run(&self.component, "restore", |plugin, store| {
            plugin.loop_guard_plugin_resume().call_restore(store, snapshot)
        })?;
        answer.map_err(RestoreError::Refused)
    }

    /// What the guard has done to each agent that it remembers, the one that was idle longest first (B9).
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn stats(&self) -> Result<Vec<Stat>, CallError> {
        let stats =
            self.call("stats", &[], |plugin, store| plugin.loop_guard_plugin_introspection().call_stats(store))?;
        let stat = |introspection::Stat { agent, calls, notices, asks, denials, longest, summary }| Stat {
            agent,
            calls,
            notices,
            asks,
            denials,
            longest,
            summary,
        };
        Ok(stats.into_iter().map(stat).collect())
    }

    /// The configuration in force with its defaults filled in, as JSON.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn describe(&self) -> Result<String, CallError> {
        self.call("describe", &[], |plugin, store| plugin.loop_guard_plugin_introspection().call_describe(store))
    }

    /// The canonical form of a call's arguments. Calls with equal arguments have equal forms.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn canonical(&self, arguments: &str) -> Result<String, CallError> {
        self.call("canonical", &[("text", arguments)], |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_canonical(store, arguments)
        })
    }

    /// The agent's current count of equal calls; 0 without one.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn count(&self, agent: &str) -> Result<u32, CallError> {
        self.call("count", &[("agent", agent)], |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_count(store, agent)
        })
    }

    /// Which settings apply to a tool, and which entry of the configuration they come from, as JSON.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn explain(&self, tool: &str) -> Result<String, CallError> {
        self.call("explain", &[("tool", tool)], |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_explain(store, tool)
        })
    }

    /// The linear memory of the instance in bytes; 0 after a fault, until the next call. It never shrinks.
    pub fn memory(&self) -> usize {
        self.lock().instance.as_ref().map(Instance::memory).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // Some thread panicked in the middle of a call: its instance can be in any state.
            self.state.clear_poison();
            let mut state = poisoned.into_inner();
            state.instance = None;
            state
        })
    }

    fn call<T>(
        &self,
        hook: &'static str,
        texts: &[(&'static str, &str)],
        function: impl FnOnce(&Plugin, &mut Store<Usage>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        check_texts(&self.component, hook, texts)?;
        self.lock().run(&self.component, hook, function)
    }
}

impl State {
    fn run<T>(
        &mut self,
        component: &Component,
        hook: &'static str,
        function: impl FnOnce(&Plugin, &mut Store<Usage>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        self.with_instance(component, hook, |instance| instance.run(hook, function))
    }

    /// Uses the instance: a fresh one if the last one is gone. A fault ends it.
    fn with_instance<T>(
        &mut self,
        component: &Component,
        hook: &'static str,
        function: impl FnOnce(&mut Instance) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let instance = match &mut self.instance {
            Some(instance) => instance,
            None => match Instance::start(component, &self.config) {
                Ok((instance, _)) => self.instance.insert(instance),
                Err(error) => return Err(CallError { hook, fault: Fault::Restart(error.to_string()) }),
            },
        };
        let answer = function(instance);
        if answer.is_err() {
            self.instance = None;
        }
        answer
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Guard").field("config", &self.lock().config).finish_non_exhaustive()
    }
}

/// The texts of a call, with their names.
fn texts<'a>(call: &ToolCall<'a>) -> [(&'static str, &'a str); 4] {
    let agent = call.agent.unwrap_or_default();
    [("agent", agent), ("id", call.id), ("name", call.name), ("arguments", call.arguments)]
}

fn check_texts(component: &Component, hook: &'static str, texts: &[(&'static str, &str)]) -> Result<(), CallError> {
    texts.iter().try_for_each(|(what, text)| check_size(component, hook, what, text.len()))
}

fn check_size(component: &Component, hook: &'static str, what: &'static str, size: usize) -> Result<(), CallError> {
    let limit = component.limits().text;
    if size > limit { Err(CallError { hook, fault: Fault::TooLarge { what, size, limit } }) } else { Ok(()) }
}

fn to_wit<'a>(call: &ToolCall<'a>) -> wit::ToolCall<'a> {
    let ToolCall { agent, id, name, arguments } = *call;
    wit::ToolCall { agent, id, name, arguments }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{Guard, State};
    use crate::component::Component;
    use crate::error::{CallError, Fault};
    use crate::types::Needs;

    #[test]
    fn an_instance_that_cannot_be_replaced_is_a_fault_of_every_call() {
        // What made the last configuration good and makes it bad now lies outside: memory, time.
        let state = State { config: "[]".into(), needs: Needs { content: false }, instance: None };
        let component = Component::embedded().unwrap_or_else(|error| unreachable!("{error}"));
        let guard = Guard { component, state: Mutex::new(state) };
        for _ in 0..2 {
            match guard.count("main") {
                Err(CallError { hook: "count", fault: Fault::Restart(why) }) => {
                    assert_eq!(why, "must be an object");
                }
                other => unreachable!("{other:?}"),
            }
        }
        assert!(guard.configure("{}").is_err(), "no instance could be asked");
    }
}
