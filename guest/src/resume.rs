//! Snapshots: all counts as bytes, for a host that goes on later (B8).
//!
//! A snapshot is a magic number, the version of its format, a digest of the configuration, the state, and a digest of all that.

use crate::persist::{Persist, Sink, Source};

const MAGIC: &[u8] = b"loop-guard counts";
const VERSION: u8 = 1;
const DIGEST: usize = blake3::OUT_LEN;

/// The snapshot of the states of agents under a configuration.
pub fn snapshot<'a, T: Persist + 'a>(config: &str, agents: impl Iterator<Item = (&'a str, &'a T)>) -> Vec<u8> {
    let mut sink = Sink(MAGIC.to_vec());
    sink.0.push(VERSION);
    sink.0.extend_from_slice(&digest(config.as_bytes()));
    for (name, state) in agents {
        sink.bytes(name.as_bytes());
        state.write(&mut sink);
    }
    let digest = digest(&sink.0);
    sink.0.extend_from_slice(&digest);
    sink.0
}

/// The names and states of the agents in a snapshot.
///
/// # Errors
///
/// Why it is refused.
pub fn restore<T: Persist>(config: &str, snapshot: &[u8]) -> Result<Vec<(Box<str>, T)>, String> {
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
    let Some((bytes, written)) = snapshot.split_last_chunk::<DIGEST>() else {
        return Err("damaged: it is cut off".to_owned());
    };
    if digest(bytes) != *written {
        return Err("damaged: its digest does not match".to_owned());
    }
    let damaged = || "damaged: it holds something else than counts".to_owned();
    let (taken_under, states) =
        bytes.get(MAGIC.len() + 1..).and_then(<[u8]>::split_first_chunk::<DIGEST>).ok_or_else(damaged)?;
    if *taken_under != digest(config.as_bytes()) {
        return Err("taken under another configuration: counts would mean something else".to_owned());
    }
    let mut source = Source::new(states);
    let mut agents = Vec::new();
    while source.has_more() {
        agents.push(Persist::read(&mut source));
    }
    if source.is_damaged() { Err(damaged()) } else { Ok(agents) }
}

fn digest(bytes: &[u8]) -> [u8; DIGEST] {
    *blake3::Hasher::new().update(bytes).finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::{MAGIC, restore, snapshot};

    #[test]
    fn b8_what_is_damaged_or_anothers_is_refused() {
        let state = vec![("a".into(), 2_u32), ("b".into(), 3)];
        let bytes = snapshot("{}", state.iter().map(|(name, count): &(Box<str>, _)| (&**name, count)));
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
