//! Changes of a running link, from the list of its scenario or from requests. A thread checks each request and builds its
//! elements, so that the driver only applies it.

use super::message::ChangeRequest;
use airpath_core::error::ScenarioError;
use airpath_core::path::Path;
use airpath_core::scenario::{Change, Prepared, Scenario, Step};
use airpath_core::time::Instant;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The thread, and the way to it and back.
pub struct Steering {
    requests: Sender<ChangeRequest>,
    answers: Receiver<Answer>,
    /// Readable when there is an answer.
    bell: UnixStream,
    /// Answers whose turn has not come.
    ready: VecDeque<Answer>,
    /// Changes of the scenario's list that are still to come, the next one last.
    steps: Vec<(Instant, Ready)>,
}

struct Answer {
    /// ID of the request; `None` for a change of the scenario's list.
    id: Option<u64>,
    result: Result<Ready, ScenarioError>,
}

/// A change that can be applied at once.
struct Ready {
    what: String,
    prepared: Prepared,
    /// Keys that may change, with their values from then on.
    values: Vec<(String, Value)>,
}

impl Steering {
    /// Starts the thread, for a link with this scenario and these real interfaces.
    pub fn start(scenario: &Scenario, real: &[u16]) -> io::Result<Self> {
        let (requests, inbox) = channel::<ChangeRequest>();
        let (outbox, answers) = channel();
        let (bell, mut rope) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let planned = scenario.steps().map_err(io::Error::other)?;
        let ready = |step: &Step| {
            (
                step.at,
                Ready { what: step.text.clone(), prepared: step.prepare(Some(real)), values: Vec::new() },
            )
        };
        let steps = planned.iter().rev().map(ready).collect();
        let mut scenario = Scenario { change: Vec::new(), ..scenario.clone() };
        let real = real.to_vec();
        std::thread::Builder::new().name("airpath-change".to_owned()).spawn(move || {
            for ChangeRequest { id, change, .. } in inbox {
                let result = prepare(&mut scenario, &change, &real);
                if outbox.send(Answer { id: Some(id), result }).is_err() || rope.write_all(b".").is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, answers, bell, ready: VecDeque::new(), steps })
    }

    /// Hands a request to the thread.
    pub fn ask(&self, request: ChangeRequest) {
        // The thread ends after this does.
        let _ = self.requests.send(request);
    }

    /// Readable when something is ready to be applied.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// When the next change of the list is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.steps.last().map(|(at, _)| *at)
    }

    /// Whether something can be applied now.
    pub fn is_ready(&mut self, now: Instant) -> bool {
        let _ = self.bell.read(&mut [0; 256]);
        while let Some((_, step)) = self.steps.pop_if(|(at, _)| *at <= now) {
            self.ready.push_back(Answer { id: None, result: Ok(step) });
        }
        self.ready.extend(self.answers.try_iter());
        !self.ready.is_empty()
    }

    /// Applies what is ready to the path, which has been run up to `now`. Returns a status for each change.
    pub fn apply(&mut self, path: &mut Path, now: Instant) -> Vec<Value> {
        let apply = |Answer { id, result }| {
            let at_s = now.as_secs_f64();
            match result {
                Ok(Ready { what, prepared, values }) => {
                    let elements = prepared.apply(path);
                    let values: serde_json::Map<_, _> = values.into_iter().collect();
                    json!({ "state": "changed", "id": id, "at_s": at_s, "what": what, "elements": elements,
                            "values": values })
                }
                Err(error) => json!({ "state": "changed", "id": id, "at_s": at_s, "key": error.path,
                                      "error": error.message, "hint": error.hint }),
            }
        };
        self.ready.drain(..).map(apply).collect()
    }
}

/// Checks a change against the scenario, which is the changed one from then on.
fn prepare(scenario: &mut Scenario, change: &Change, real: &[u16]) -> Result<Ready, ScenarioError> {
    // A question for the values alone.
    if *change == (Change { ue: change.ue, ..Change::default() }) {
        let prepared = Prepared::default();
        return Ok(Ready { what: String::new(), prepared, values: scenario.changeable()? });
    }
    let step = scenario.step(change)?;
    Ok(Ready { prepared: step.prepare(Some(real)), what: step.text, values: scenario.changeable()? })
}
