//! How much a guard may use.

use std::time::Duration;

/// How much one instance of a component may use, and how much it is sent. What goes beyond is a
/// [`Fault`](crate::Fault), never the end of the host's process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The linear memory of one instance, in bytes, and the size of one answer. By default 1 GiB: arguments at the bound below can
    /// take ten times their size while they are read, a configuration thirty times. What is kept is far less: a few hundred bytes
    /// for each agent beside its name, and 7 MiB of recent texts.
    pub memory: usize,
    /// The time for one call. By default 10 seconds; it is measured in ticks of 100 ms, and rounded up to the
    /// next. Arguments at the bound below are answered in one to three seconds.
    pub time: Duration,
    /// The length of each text that is sent, in bytes: arguments, results, names, configurations. By
    /// default 32 MiB.
    pub text: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 1 << 30, time: Duration::from_secs(10), text: 32 << 20 }
    }
}
