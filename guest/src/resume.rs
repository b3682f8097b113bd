//! Snapshots: all counts as bytes, for a host that goes on later (B8).
//!
//! A snapshot is a magic number, the version of its format, a digest of the configuration, the state, and a digest of all that.

use crate::persist::Persist;

const MAGIC: &[u8] = b"loop-guard counts";
const VERSION: u8 = 1;
const DIGEST: usize = blake3::OUT_LEN;

/// The snapshot of the states of agents under a configuration.
pub fn snapshot<'a, T: Persist + 'a>(config: &str, agents: impl Iterator<Item = (&'a str, &'a T)>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend_from_slice(blake3::hash(config.as_bytes()).as_bytes());
    for (name, state) in agents {
        name.to_owned().write(&mut bytes);
        state.write(&mut bytes);
    }
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

/// The names and states of the agents in a snapshot.
///
/// # Errors
///
/// Why it is refused.
pub fn restore<T: Persist>(config: &str, snapshot: &[u8]) -> Result<Vec<(String, T)>, String> {
    let Some(rest) = snapshot.strip_prefix(MAGIC) else {
        return Err("not a snapshot of this guard: it does not begin like one".to_owned());
    };
    match rest.first() {
        Some(&VERSION) => {}
        Some(version) => {
            return Err(format!(
                "a snapshot of format {version}, and this guard reads format {VERSION}: begin with empty counts"
            ));
        }
        None => return Err("damaged: it is cut off".to_owned()),
    }
    let Some((bytes, digest)) = snapshot.split_last_chunk::<DIGEST>() else {
        return Err("damaged: it is cut off".to_owned());
    };
    if blake3::hash(bytes).as_bytes() != digest {
        return Err("damaged: its digest does not match".to_owned());
    }
    let damaged = || "damaged: it holds something else than counts".to_owned();
    let (taken_under, mut states) =
        bytes.get(MAGIC.len() + 1..).and_then(<[u8]>::split_first_chunk::<DIGEST>).ok_or_else(damaged)?;
    if taken_under != blake3::hash(config.as_bytes()).as_bytes() {
        return Err("taken under another configuration: counts would mean something else".to_owned());
    }
    let mut agents = Vec::new();
    while !states.is_empty() {
        agents.push(Persist::read(&mut states).ok_or_else(damaged)?);
    }
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::{MAGIC, restore, snapshot};

    #[test]
    fn b8_what_is_damaged_or_anothers_is_refused() {
        let state = vec![("a".to_owned(), 2_u32), ("b".to_owned(), 3)];
        let bytes = snapshot("{}", state.iter().map(|(name, count)| (name.as_str(), count)));
        assert_eq!(restore("{}", &bytes), Ok(state));
        let refused = |config: &str, bytes: &[u8]| restore::<u32>(config, bytes).err().unwrap_or_default();
        assert_eq!(refused("{ }", &bytes), "taken under another configuration: counts would mean something else");
        assert_eq!(refused("{}", b""), "not a snapshot of this guard: it does not begin like one");
        assert_eq!(refused("{}", MAGIC), "damaged: it is cut off");
        for end in 0..bytes.len() {
            assert_ne!(refused("{}", bytes.get(..end).unwrap_or_default()), "", "cut off at {end}");
        }
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            if let Some(byte) = flipped.get_mut(place) {
                *byte ^= 1;
            }
            assert_ne!(refused("{}", &flipped), "", "a bit flipped at {place}");
        }
        let mut later = bytes.clone();
        if let Some(version) = later.get_mut(MAGIC.len()) {
            *version = 2;
        }
        assert_eq!(
            refused("{}", &later),
            "a snapshot of format 2, and this guard reads format 1: begin with empty counts"
        );
        // Another type of state with a right digest.
        assert_eq!(
            refused("{}", &snapshot("{}", [("a", &u64::MAX)].into_iter())),
            "damaged: it holds something else than counts"
        );
    }
}
