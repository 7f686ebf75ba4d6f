//! Where the time of some work goes, by its stages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use likewise::Event;

/// Seconds that each stage of the work took. Of a stage inside another one the time counts for
/// the inner one only.
#[derive(Clone, Default)]
pub struct Stages(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    /// Stages that have begun, the innermost last.
    names: Vec<String>,
    /// Since when the innermost one runs.
    since: Option<Instant>,
    seconds: BTreeMap<String, f64>,
}

impl Open {
    /// Gives the time so far to the innermost stage.
    fn settle(&mut self) {
        if let (Some(since), Some(name)) = (self.since, self.names.last()) {
            *self.seconds.entry(name.clone()).or_default() += since.elapsed().as_secs_f64();
        }
        self.since = Some(Instant::now());
    }
}

impl Stages {
    /// Takes note of an event; to be called by whoever receives those of the monitor.
    pub fn hear(&self, event: &Event) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Start { stage, .. } => {
                open.settle();
                open.names.push(stage.clone());
            }
            Event::End => {
                open.settle();
                open.names.pop();
            }
            _ => {}
        }
    }

    /// The stages so far, with what was spent in each.
    pub fn seconds(&self) -> BTreeMap<String, f64> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.settle();
        open.seconds.clone()
    }

    /// Where `total` seconds went, the longest first.
    pub fn in_words(&self, total: f64) -> String {
        let mut stages: Vec<(String, f64)> = self.seconds().into_iter().collect();
        let rest = total - stages.iter().map(|(_, seconds)| seconds).sum::<f64>();
        stages.push(("the rest".into(), rest));
        stages.retain(|(_, seconds)| *seconds >= 0.05);
        stages.sort_by(|a, b| b.1.total_cmp(&a.1));
        let parts = stages.iter().map(|(name, s)| format!("{name} {s:.1}"));
        let parts: Vec<String> = parts.collect();
        // No part may be long enough to be told.
        let colon = if parts.is_empty() { "" } else { ": " };
        format!("{total:.1} s{colon}{}", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_counts_for_the_innermost_stage() {
        let stages = Stages::default();
        let start = |stage: &str| Event::Start {
            stage: stage.into(),
            total: None,
        };
        let pause = || std::thread::sleep(Duration::from_millis(20));
        stages.hear(&start("outer"));
        stages.hear(&start("inner"));
        pause();
        pause();
        pause();
        stages.hear(&Event::End);
        pause();
        stages.hear(&Event::End);
        let seconds = stages.seconds();
        assert!(seconds["inner"] >= 0.06 && seconds["outer"] >= 0.02);
        pause();
        assert_eq!(seconds, stages.seconds(), "nothing runs any more");
        let words = stages.in_words(9.0);
        assert!(words.starts_with("9.0 s: the rest 8.") && words.contains("inner 0."));
        // Each of its parts is shorter than what is told.
        assert_eq!(Stages::default().in_words(0.04), "0.0 s");
    }
}
