//! Looks into a component, whether or not it implements the contract.

use wasmtime::Config;
use wasmtime::component::types::ComponentItem;

use crate::cache;
use crate::component::{check_contract, compile};
use crate::error::LoadError;

/// What a component imports and exports.
#[derive(Debug)]
pub struct Inspection {
    /// The names of what it imports.
    pub imports: Vec<String>,
    /// The names of what it exports; of an interface, its functions with their parameters too.
    pub exports: Vec<(String, Vec<String>)>,
    /// Whether it implements the contract, by the names of its interfaces; if not, why.
    pub contract: Result<(), LoadError>,
}

impl Inspection {
    /// Looks into a component. Its compiled code is kept as [`Component::embedded_cached`](crate::Component::embedded_cached) says.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotAComponent`] and [`LoadError::Compile`].
    pub fn of(bytes: &[u8]) -> Result<Self, LoadError> {
        let (engine, component) = compile(Config::new().cache(cache::open()), bytes)?;
        let world = component.component_type();
        let mut exports = Vec::new();
        for (name, export) in world.exports(&engine) {
            let functions = match &export.ty {
                ComponentItem::ComponentInstance(interface) => {
                    interface.exports(&engine).filter_map(|(name, item)| signature(name, &item.ty)).collect()
                }
                _ => Vec::new(),
            };
            exports.push((name.to_owned(), functions));
        }
        Ok(Self {
            imports: world.imports(&engine).map(|(name, _)| name.to_owned()).collect(),
            exports,
            contract: check_contract(&engine, &component),
        })
    }
}

fn signature(name: &str, item: &ComponentItem) -> Option<String> {
    match item {
        ComponentItem::ComponentFunc(function) => {
            let parameters: Vec<_> = function.params().map(|(name, _)| name.to_owned()).collect();
            Some(format!("{name}({})", parameters.join(", ")))
        }
        _ => None,
    }
}
