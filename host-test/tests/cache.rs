//! Where the command keeps compiled code, and where it does not.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Replays a session for a user with this home folder.
#[track_caller]
fn replay(home: &Path) {
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/dsh/stuck-on-a-grep.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop-guard"));
    let output = command.arg("replay").arg(session).env("HOME", home).env_remove("XDG_CACHE_HOME").output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    assert!(String::from_utf8_lossy(&output.stdout).contains("grep × 3"));
}

/// The compiled code that is kept for a user with this home folder.
fn kept(home: &Path) -> Vec<PathBuf> {
    let mut folders = vec![home.join(".cache/loop-guard/compiled")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::metadata(&path).unwrap().len() > 10_000 {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn compiled_code_is_kept_in_a_folder_of_the_user_alone() {
    let home = tempfile::tempdir().unwrap();
    replay(home.path());
    assert_eq!(mode(&home.path().join(".cache/loop-guard/compiled")), 0o700);
    let first = kept(home.path());
    assert_ne!(first, Vec::<PathBuf>::new());
    replay(home.path());
    assert_eq!(kept(home.path()), first);
}

#[test]
fn a_damaged_file_is_compiled_anew() {
    let home = tempfile::tempdir().unwrap();
    replay(home.path());
    let files = kept(home.path());
    for damage in [|bytes: &mut Vec<u8>| bytes.truncate(5000), |bytes: &mut Vec<u8>| bytes.fill(7)] {
        for file in &files {
            let mut bytes = fs::read(file).unwrap();
            damage(&mut bytes);
            fs::write(file, bytes).unwrap();
        }
        replay(home.path());
    }
}

#[test]
fn a_folder_that_others_can_enter_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".cache/loop-guard/compiled");
    fs::create_dir_all(&folder).unwrap();
    for mode in [0o777, 0o770, 0o707, 0o755] {
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        replay(home.path());
        assert_eq!(kept(home.path()), Vec::<PathBuf>::new(), "{mode:o}");
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    replay(home.path());
    assert_ne!(kept(home.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_link_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".cache/loop-guard")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), home.path().join(".cache/loop-guard/compiled")).unwrap();
    replay(home.path());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn without_a_place_for_it_the_component_is_compiled_each_time() {
    replay(Path::new("/dev/null"));
}
