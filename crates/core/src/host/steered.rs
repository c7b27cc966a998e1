//! The sender of a host that a program steers: [`crate::steering`].

use super::{End, Host};
use crate::element::Cx;
use crate::steering::{Measured, Steering};

/// What a steered sender has measured, with the settings in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Its measurements.
    pub measured: Measured,
    /// Congestion window, bytes; `None` for a sender without one.
    pub window: Option<f64>,
    /// Pacing rate or target rate, bit/s; `None` if it is not paced.
    pub rate: Option<f64>,
    /// All of a transfer has been acknowledged.
    pub is_finished: bool,
}

impl Host {
    /// Position of a flow's end at this host, if there is such a flow.
    pub fn position(&self, ue: u16, flow: u16) -> Option<usize> {
        self.index.position(ue, flow)
    }

    /// State of the sender at this position, if it can be steered.
    pub fn steered(&mut self, position: usize) -> Option<View> {
        let end = &mut self.endpoints.get_mut(position)?.end;
        let (window, is_finished) = match end {
            End::Sends(end) => (Some(end.sender.state().window.cwnd), end.stream.finished.is_some()),
            _ => (None, false),
        };
        let steering = end.steering()?;
        Some(View { measured: steering.measured, window, rate: steering.rate, is_finished })
    }

    /// Sets the window (segments) or the rate (bit/s) of the sender at this position, if it can be steered, and sends
    /// what it may send now.
    pub fn steer(&mut self, cx: &mut Cx<'_>, position: usize, window: Option<f64>, rate: Option<f64>) {
        let Some(endpoint) = self.endpoints.get_mut(position) else { return };
        match &mut endpoint.end {
            End::Sends(end) => end.sender.steer(window, rate),
            end => {
                if let Some(steering) = end.steering() {
                    steering.rate = rate.or(steering.rate);
                }
            }
        }
        if endpoint.opened {
            endpoint.end.pump(cx, &endpoint.spec, &mut self.interface, position as u32);
        }
    }
}

impl End {
    fn steering(&mut self) -> Option<&mut Steering> {
        match self {
            Self::Sends(end) => end.sender.steering(),
            Self::Other(end) => end.steering(),
            Self::Receives(_) | Self::Arrivals(_) | Self::Unused | Self::Path(..) => None,
        }
    }
}
