//! Works on many things at once, and brings what comes of them in their order.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Result;

/// How many chunks of output may wait for their turn, for each thing, and how large they are.
const CHUNKS: usize = 16;
const CHUNK: usize = 64 << 10;

/// What comes of one thing: output as it is made, and a result in the end.
enum Message<T> {
    Output(Vec<u8>),
    Done(T),
}

/// Where a worker writes its output to.
pub struct Outlet<T> {
    sender: SyncSender<Message<T>>,
    chunk: Vec<u8>,
}

/// Does `work` on the numbers below `count` with so many threads, writes all output to `out` in the order of the numbers, and gives
/// `done` the results in that order. Output that cannot be written yet waits, and its worker with it: memory does not grow.
pub fn in_order<T: Send>(
    count: usize,
    threads: usize,
    out: &mut dyn Write,
    work: impl Fn(usize, &mut Outlet<T>) -> T + Sync,
    mut done: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let (senders, receivers): (Vec<_>, Vec<Receiver<Message<T>>>) = (0..count).map(|_| sync_channel(CHUNKS)).unzip();
    // Each takes the first number that nobody has: the one whose turn it is, is always worked on. A sender goes away with its
    // worker, if need be in a panic, so that nobody waits for it in vain.
    let next = Mutex::new(senders.into_iter().enumerate());
    let take = || next.lock().ok()?.next();
    let worker = || {
        while let Some((number, sender)) = take() {
            let mut outlet = Outlet { sender, chunk: Vec::new() };
            let result = work(number, &mut outlet);
            if outlet.flush().is_err() || outlet.sender.send(Message::Done(result)).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(worker);
        }
        // If writing fails, the receivers are dropped, and the workers stop.
        for receiver in receivers {
            for message in receiver {
                match message {
                    Message::Output(chunk) => out.write_all(&chunk)?,
                    Message::Done(result) => {
                        done(result)?;
                        break;
                    }
                }
            }
        }
        Ok(())
    })
}

impl<T> Write for Outlet<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() {
            return Ok(());
        }
        self.sender.send(Message::Output(chunk)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
