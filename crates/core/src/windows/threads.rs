//! Workers that are threads: as long as the run exists.

use super::{Task, Workers};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// Runs the first task itself, and each other one on a thread.
#[derive(Default)]
pub struct Threads {
    workers: Vec<Worker>,
}

struct Worker {
    /// `None` when the thread is to end.
    tasks: Option<Sender<Task>>,
    done: Mutex<Receiver<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Threads {
    /// So many threads with the caller's.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn new(count: usize) -> std::io::Result<Self> {
        let workers = (1..count).map(|_| Worker::new()).collect::<std::io::Result<_>>()?;
        Ok(Self { workers })
    }
}

impl Workers for Threads {
    fn run(&mut self, tasks: &mut Vec<Task>) {
        let count = self.workers.len().min(tasks.len().saturating_sub(1));
        let others = tasks.split_off(tasks.len() - count);
        for (worker, task) in self.workers.iter().zip(others) {
            // A thread that has ended shows below.
            let _ = worker.tasks.as_ref().map(|queue| queue.send(task));
        }
        tasks.iter_mut().for_each(Task::run);
        for worker in &mut self.workers[..count] {
            let done = worker.done.get_mut().ok().and_then(|done| done.recv().ok());
            tasks.push(done.expect("the thread of the run goes on"));
        }
    }
}

impl Worker {
    fn new() -> std::io::Result<Self> {
        let (tasks, come) = channel::<Task>();
        let (finish, done) = channel();
        let work = move || {
            for mut task in come {
                task.run();
                if finish.send(task).is_err() {
                    return;
                }
            }
        };
        let thread = Builder::new().name("airpath run".into()).spawn(work)?;
        Ok(Self { tasks: Some(tasks), done: Mutex::new(done), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tasks = None;
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
