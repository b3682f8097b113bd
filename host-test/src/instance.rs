//! One instance of a component, and the bounds it is held to.

use wasmtime::{ResourceLimiter, Store, Trap};

use crate::bindings::Plugin;
use crate::bindings::exports::loop_guard::plugin::guard as wit;
use crate::component::{Component, TICK};
use crate::error::{CallError, ConfigureError, Fault};
use crate::limits::Limits;
use crate::types::{Needs, Problem};

/// A running instance. After a fault it must not be called again.
pub struct Instance {
    store: Store<Usage>,
    plugin: Plugin,
    limits: Limits,
}

/// The memory that an instance uses.
pub struct Usage {
    limit: usize,
    memory: usize,
    exceeded: bool,
}

impl Instance {
    /// A fresh instance with a configuration in force.
    pub fn start(component: &Component, config: &str) -> Result<(Self, Needs), ConfigureError> {
        let limits = *component.limits();
        let usage = Usage { limit: limits.memory, memory: 0, exceeded: false };
        let mut store = Store::new(component.pre().engine(), usage);
        store.limiter(|usage| usage);
        // What is copied out of a component is bounded by its memory, unless it gives the same bytes many times.
        store.set_hostcall_fuel(limits.memory);
        set_deadline(&mut store, &limits);
        let plugin = match component.pre().instantiate(&mut store) {
            Ok(plugin) => plugin,
            Err(error) => return Err(fault(&store, &limits, "instantiate", &error).into()),
        };
        let mut instance = Self { store, plugin, limits };
        let needs = instance.configure(config)?;
        Ok((instance, needs))
    }

    /// Puts a configuration in force.
    pub fn configure(&mut self, config: &str) -> Result<Needs, ConfigureError> {
        let answer =
            self.run("configure", |plugin, store| plugin.loop_guard_plugin_guard().call_configure(store, config))?;
        match answer {
            Ok(wit::Needs { content }) => Ok(Needs { content }),
            Err(problems) => {
                let problem = |wit::Problem { path, message }| Problem { path, message };
                Err(ConfigureError::Problems(problems.into_iter().map(problem).collect()))
            }
        }
    }

    /// Calls a function of the component.
    pub fn run<T>(
        &mut self,
        hook: &'static str,
        function: impl FnOnce(&Plugin, &mut Store<Usage>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        set_deadline(&mut self.store, &self.limits);
        function(&self.plugin, &mut self.store).map_err(|error| fault(&self.store, &self.limits, hook, &error))
    }

    /// The linear memory in bytes.
    pub fn memory(&self) -> usize {
        self.store.data().memory
    }
}

fn set_deadline(store: &mut Store<Usage>, limits: &Limits) {
    // The tick that is under way does not count.
    let ticks = limits.time.as_nanos().div_ceil(TICK.as_nanos()) + 1;
    store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX / 2));
}

fn fault(store: &Store<Usage>, limits: &Limits, hook: &'static str, error: &wasmtime::Error) -> CallError {
    let fault = if store.data().exceeded {
        Fault::Memory { limit: limits.memory }
    } else if error.downcast_ref() == Some(&Trap::Interrupt) {
        Fault::Time { limit: limits.time }
    } else {
        Fault::Trap(error.root_cause().to_string())
    };
    CallError { hook, fault }
}

impl ResourceLimiter for Usage {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.exceeded = desired > self.limit;
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
