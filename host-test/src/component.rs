//! A compiled component: loaded and checked once, for any number of guards.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{self, Linker};
use wasmtime::{Config, Engine, EngineWeak};

use crate::bindings::PluginPre;
use crate::cache;
use crate::error::{ConfigureError, LoadError};
use crate::guard::Guard;
use crate::instance::Usage;
use crate::limits::Limits;

/// The interfaces that a component must export: this version of the contract.
pub const CONTRACT: [&str; 3] =
    ["loop-guard:plugin/guard@0.1.0", "loop-guard:plugin/introspection@0.1.0", "loop-guard:plugin/resume@0.1.0"];

/// How often a running call is looked at, to see whether its time is over.
///
/// wasmtime can bound a call by epochs, which a thread counts, or by fuel, which the compiled code counts. Measured with `make bench`,
/// epochs are the cheaper by 3 to 5 % where arguments must be read, fuel by 10 % for long byte-identical repeats; without
/// either, a call costs 8 to 30 % less. Epochs it is: a bound in seconds means something to whoever sets it, and a thread that
/// wakes ten times a second costs next to nothing.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// A compiled component that implements the contract.
///
/// Compiling takes a fraction of a second; a clone is cheap, and so is a guard. One thread for each loaded
/// component, and its clones, watches the time of calls.
#[derive(Clone)]
pub struct Component {
    pre: Arc<PluginPre<Usage>>,
    limits: Limits,
}

impl Component {
    /// The component that is built into this library.
    ///
    /// # Errors
    ///
    /// [`LoadError::Compile`] where wasmtime does not support the machine, and [`LoadError::Thread`].
    pub fn embedded() -> Result<Self, LoadError> {
        Self::from_bytes(Self::embedded_bytes())
    }

    /// The bytes of the component that is built into this library.
    pub fn embedded_bytes() -> &'static [u8] {
        include_bytes!(concat!(env!("OUT_DIR"), "/loop_guard.wasm"))
    }

    /// The same, with its compiled code kept in the user's cache folder: from the second process on, this takes milliseconds.
    ///
    /// The folder is `loop-guard/compiled` in `$XDG_CACHE_HOME` or `~/.cache`, or what the system has in its place. A folder that
    /// another user owns or can enter is not used, and where there is none, the component is compiled anew.
    ///
    /// # Errors
    ///
    /// As for [`embedded`](Self::embedded).
    pub fn embedded_cached() -> Result<Self, LoadError> {
        Self::from_bytes_cached(Self::embedded_bytes())
    }

    /// A component in a file.
    ///
    /// # Errors
    ///
    /// Any [`LoadError`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes)
    }

    /// A component in memory.
    ///
    /// # Errors
    ///
    /// Any [`LoadError`] but [`LoadError::Read`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LoadError> {
        Self::load(&mut Config::new(), bytes)
    }

    /// A component in memory, with its compiled code kept as [`embedded_cached`](Self::embedded_cached) says.
    ///
    /// # Errors
    ///
    /// Any [`LoadError`] but [`LoadError::Read`].
    pub fn from_bytes_cached(bytes: &[u8]) -> Result<Self, LoadError> {
        Self::load(Config::new().cache(cache::open()), bytes)
    }

    fn load(config: &mut Config, bytes: &[u8]) -> Result<Self, LoadError> {
        let (engine, component) = compile(config.epoch_interruption(true), bytes)?;
        check_contract(&engine, &component)?;
        let pre = Linker::new(&engine)
            .instantiate_pre(&component)
            .and_then(PluginPre::new)
            .map_err(|error| LoadError::Types { difference: format!("{error:#}") })?;
        watch_time(engine.weak()).map_err(LoadError::Thread)?;
        Ok(Self { pre: Arc::new(pre), limits: Limits::default() })
    }

    /// The same component, for guards with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// A new guard: an instance of its own, with a configuration as JSON. `{}` means the defaults.
    ///
    /// # Errors
    ///
    /// All problems of the configuration, or what kept the component from reading it.
    pub fn guard(&self, config: &str) -> Result<Guard, ConfigureError> {
        Guard::new(self.clone(), config)
    }

    pub(crate) fn pre(&self) -> &PluginPre<Usage> {
        &self.pre
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Component").field("limits", &self.limits).finish_non_exhaustive()
    }
}

pub(crate) fn compile(config: &Config, bytes: &[u8]) -> Result<(Engine, component::Component), LoadError> {
    check_kind(bytes)?;
    let fault = |error: wasmtime::Error| LoadError::Compile(format!("{error:#}"));
    let engine = Engine::new(config).map_err(fault)?;
    let component = component::Component::new(&engine, bytes).map_err(fault)?;
    Ok((engine, component))
}

/// The first eight bytes tell a component from a core module.
fn check_kind(bytes: &[u8]) -> Result<(), LoadError> {
    match bytes {
        [b'\0', b'a', b's', b'm', _, _, 1, 0, ..] => Ok(()),
        [b'\0', b'a', b's', b'm', _, _, 0, 0, ..] => {
            Err(LoadError::NotAComponent("a core module; wrap it with `wasm-tools component new` first"))
        }
        [] => Err(LoadError::NotAComponent("empty")),
        _ => Err(LoadError::NotAComponent("something else: it does not begin with the bytes of WebAssembly")),
    }
}

pub(crate) fn check_contract(engine: &Engine, component: &component::Component) -> Result<(), LoadError> {
    let world = component.component_type();
    let imports: Vec<_> = world.imports(engine).map(|(name, _)| name.to_owned()).collect();
    if !imports.is_empty() {
        return Err(LoadError::Imports(imports));
    }
    let exports: Vec<_> = world.exports(engine).collect();
    let exported = |interface: &str| {
        exports
            .iter()
            .any(|(name, export)| *name == interface && matches!(export.ty, ComponentItem::ComponentInstance(_)))
    };
    if CONTRACT.iter().all(|interface| exported(interface)) {
        return Ok(());
    }
    Err(LoadError::Contract { found: exports.iter().map(|(name, _)| (*name).to_owned()).collect() })
}

/// Lets time pass for the calls of an engine, for as long as it lives.
fn watch_time(engine: EngineWeak) -> Result<(), std::io::Error> {
    thread::Builder::new().name("loop-guard-time".to_owned()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    })?;
    Ok(())
}
