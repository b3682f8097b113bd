//! Compiled code that is kept between processes, in the user's cache folder.

use std::fs;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use etcetera::base_strategy::choose_native_strategy;
use wasmtime::{Cache, CacheConfig};

/// The user's cache of compiled code; none where there is no place for it that is theirs alone.
///
/// wasmtime names the files after the component, its own version and all settings, replaces them as a whole, and deletes those not
/// used for long. It trusts what it finds there: whoever can write to the folder can run code as the user.
pub fn open() -> Option<Cache> {
    // A folder for this alone: wasmtime deletes what it does not know in it.
    let folder = private_folder(choose_native_strategy().ok()?.cache_dir().join("loop-guard/compiled"))?;
    let mut config = CacheConfig::new();
    config.with_directory(folder);
    Cache::new(config).ok()
}

/// Makes the folder unless it is there; none if others than the user can enter it.
fn private_folder(folder: PathBuf) -> Option<PathBuf> {
    if !folder.is_absolute() {
        return None;
    }
    if !folder.exists() {
        create(&folder).ok()?;
    }
    is_private(&fs::symlink_metadata(&folder).ok()?).then_some(folder)
}

#[cfg(unix)]
fn create(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(unix)]
fn is_private(folder: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    folder.is_dir() && folder.mode() & 0o077 == 0 && folder.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn create(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

/// Folders of users are their own there by default.
#[cfg(not(unix))]
fn is_private(folder: &fs::Metadata) -> bool {
    folder.is_dir()
}
