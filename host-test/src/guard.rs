//! A guard: one instance of a component, shared by the threads of a host.

use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::{ResourceLimiter, Store, Trap};

use crate::bindings::Plugin;
use crate::bindings::exports::loop_guard::plugin::guard as wit;
use crate::component::{Component, TICK};
use crate::error::{CallError, ConfigureError, Fault};
use crate::types::{Decision, Needs, Notice, Outcome, Problem, Status, StepStart, ToolCall};

/// One instance of a component with a configuration. Its methods are the functions of the contract.
///
/// Threads may share it: calls are made one after another, so that no quota slot is taken twice. Each
/// takes microseconds, and blocks for as long.
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

struct Instance {
    store: Store<Usage>,
    plugin: Plugin,
}

/// Watches how much memory an instance uses.
pub(crate) struct Usage {
    max_memory: usize,
    memory: usize,
    exceeded: bool,
}

impl Guard {
    pub(crate) fn new(component: Component, config: &str) -> Result<Self, ConfigureError> {
        let (instance, needs) = start(&component, config)?;
        let state = State { config: config.into(), needs, instance: Some(instance) };
        Ok(Self { component, state: Mutex::new(state) })
    }

    /// Puts another configuration in force, and forgets all state.
    ///
    /// # Errors
    ///
    /// All problems of the configuration, in which case nothing has changed; or a fault.
    pub fn configure(&self, config: &str) -> Result<Needs, ConfigureError> {
        self.check_text("configure", &[("configuration", config)])?;
        let mut state = self.lock();
        let answer = self.call(&mut state, "configure", |plugin, store| {
            plugin.loop_guard_plugin_guard().call_configure(store, config)
        })?;
        let needs = accepted(answer)?;
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
        self.check_text("step", &[("agent", step.agent)])?;
        let StepStart { agent, turn, step, prompted } = *step;
        let start = wit::StepStart { agent, turn, step, prompted };
        self.call(&mut self.lock(), "step", |plugin, store| plugin.loop_guard_plugin_guard().call_step(store, start))
    }

    /// A tool call is about to run.
    ///
    /// # Errors
    ///
    /// A fault. A host that enforces limits does not run the call then; [`Pipeline`](crate::Pipeline) sees to that.
    pub fn pre_execute(&self, call: &ToolCall<'_>) -> Result<Decision, CallError> {
        self.check_call("pre-execute", call)?;
        let answer = self.call(&mut self.lock(), "pre-execute", |plugin, store| {
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
        self.check_call("post-execute", call)?;
        let mut state = self.lock();
        let content = outcome.content.filter(|_| state.needs.content);
        self.check_text("post-execute", &[("content", content.unwrap_or_default())])?;
        let status = match outcome.status {
            Status::Succeeded => wit::Status::Succeeded,
            Status::Failed => wit::Status::Failed,
            Status::Denied => wit::Status::Denied,
        };
        let notices = self.call(&mut state, "post-execute", |plugin, store| {
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
        self.check_text("step-aborted", &[("agent", agent)])?;
        self.call(&mut self.lock(), "step-aborted", |plugin, store| {
            plugin.loop_guard_plugin_guard().call_step_aborted(store, agent, turn, step)
        })
    }

    /// A turn has ended.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn turn_ended(&self, agent: &str, turn: u32) -> Result<(), CallError> {
        self.check_text("turn-ended", &[("agent", agent)])?;
        self.call(&mut self.lock(), "turn-ended", |plugin, store| {
            plugin.loop_guard_plugin_guard().call_turn_ended(store, agent, turn)
        })
    }

    /// An agent has ended; everything about it is forgotten.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn agent_ended(&self, agent: &str) -> Result<(), CallError> {
        self.check_text("agent-ended", &[("agent", agent)])?;
        self.call(&mut self.lock(), "agent-ended", |plugin, store| {
            plugin.loop_guard_plugin_guard().call_agent_ended(store, agent)
        })
    }

    /// The configuration in force with its defaults filled in, as JSON.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn describe(&self) -> Result<String, CallError> {
        self.call(&mut self.lock(), "describe", |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_describe(store)
        })
    }

    /// The canonical form of a call's arguments. Calls with equal arguments have equal forms.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn canonical(&self, arguments: &str) -> Result<String, CallError> {
        self.check_text("canonical", &[("text", arguments)])?;
        self.call(&mut self.lock(), "canonical", |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_canonical(store, arguments)
        })
    }

    /// The agent's current count of equal calls; 0 without one.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn count(&self, agent: &str) -> Result<u32, CallError> {
        self.check_text("count", &[("agent", agent)])?;
        self.call(&mut self.lock(), "count", |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_count(store, agent)
        })
    }

    /// Which settings apply to a tool, and which entry of the configuration they come from, as JSON.
    ///
    /// # Errors
    ///
    /// A fault.
    pub fn explain(&self, tool: &str) -> Result<String, CallError> {
        self.check_text("explain", &[("tool", tool)])?;
        self.call(&mut self.lock(), "explain", |plugin, store| {
            plugin.loop_guard_plugin_introspection().call_explain(store, tool)
        })
    }

    /// The linear memory of the instance in bytes; 0 after a fault, until the next call. It never shrinks.
    pub fn memory(&self) -> usize {
        self.lock().instance.as_ref().map(|instance| instance.store.data().memory).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            // Some thread panicked in the middle of a call: its instance can be in any state.
            self.state.clear_poison();
            let mut state = poisoned.into_inner();
            state.instance = None;
            state
        })
    }

    fn check_call(&self, hook: &'static str, call: &ToolCall<'_>) -> Result<(), CallError> {
        let agent = call.agent.unwrap_or_default();
        self.check_text(hook, &[("agent", agent), ("id", call.id), ("name", call.name), ("arguments", call.arguments)])
    }

    fn check_text(&self, hook: &'static str, texts: &[(&'static str, &str)]) -> Result<(), CallError> {
        check_text(&self.component, hook, texts)
    }

    /// Calls the component: a fresh instance of it if the last one is gone. A fault ends the instance.
    fn call<T>(
        &self,
        state: &mut State,
        hook: &'static str,
        function: impl FnOnce(&Plugin, &mut Store<Usage>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        let mut instance = match state.instance.take() {
            Some(instance) => instance,
            None => match start(&self.component, &state.config) {
                Ok((instance, _)) => instance,
                Err(error) => {
                    return Err(CallError { hook, fault: Fault::Restart(error.to_string()) });
                }
            },
        };
        let answer = run(&self.component, &mut instance, hook, function)?;
        state.instance = Some(instance);
        Ok(answer)
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Guard").field("config", &self.lock().config).finish_non_exhaustive()
    }
}

/// A fresh instance with a configuration in force.
fn start(component: &Component, config: &str) -> Result<(Instance, Needs), ConfigureError> {
    check_text(component, "configure", &[("configuration", config)])?;
    let usage = Usage { max_memory: component.limits().memory, memory: 0, exceeded: false };
    let mut store = Store::new(component.pre().engine(), usage);
    store.limiter(|usage| usage);
    set_deadline(component, &mut store);
    let plugin =
        component.pre().instantiate(&mut store).map_err(|error| fault(component, &store, "instantiate", &error))?;
    let mut instance = Instance { store, plugin };
    let answer = run(component, &mut instance, "configure", |plugin, store| {
        plugin.loop_guard_plugin_guard().call_configure(store, config)
    })?;
    Ok((instance, accepted(answer)?))
}

fn run<T>(
    component: &Component,
    instance: &mut Instance,
    hook: &'static str,
    function: impl FnOnce(&Plugin, &mut Store<Usage>) -> wasmtime::Result<T>,
) -> Result<T, CallError> {
    set_deadline(component, &mut instance.store);
    function(&instance.plugin, &mut instance.store).map_err(|error| fault(component, &instance.store, hook, &error))
}

fn set_deadline(component: &Component, store: &mut Store<Usage>) {
    // The tick that is under way does not count.
    let ticks = component.limits().time.as_nanos().div_ceil(TICK.as_nanos()) + 1;
    store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX / 2));
}

fn fault(component: &Component, store: &Store<Usage>, hook: &'static str, error: &wasmtime::Error) -> CallError {
    let limits = component.limits();
    let fault = if store.data().exceeded {
        Fault::Memory { max: limits.memory }
    } else if error.downcast_ref() == Some(&Trap::Interrupt) {
        Fault::Time { limit: limits.time }
    } else {
        Fault::Trap(error.root_cause().to_string())
    };
    CallError { hook, fault }
}

fn check_text(component: &Component, hook: &'static str, texts: &[(&'static str, &str)]) -> Result<(), CallError> {
    let max = component.limits().text;
    match texts.iter().find(|(_, text)| text.len() > max) {
        None => Ok(()),
        Some((what, text)) => Err(CallError { hook, fault: Fault::TooLarge { what, size: text.len(), max } }),
    }
}

fn accepted(answer: Result<wit::Needs, Vec<wit::Problem>>) -> Result<Needs, ConfigureError> {
    match answer {
        Ok(wit::Needs { content }) => Ok(Needs { content }),
        Err(problems) => {
            let problem = |wit::Problem { path, message }| Problem { path, message };
            Err(ConfigureError::Problems(problems.into_iter().map(problem).collect()))
        }
    }
}

fn to_wit<'a>(call: &ToolCall<'a>) -> wit::ToolCall<'a> {
    let ToolCall { agent, id, name, arguments } = *call;
    wit::ToolCall { agent, id, name, arguments }
}

impl ResourceLimiter for Usage {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.exceeded = desired > self.max_memory;
        if self.exceeded {
            // An error ends the call; a refusal would leave the component to make what it can of it.
            return Err(wasmtime::Error::msg("the memory limit is reached"));
        }
        self.memory = desired;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // A Rust component never grows its table of functions.
        Ok(desired <= 10_000)
    }
}
