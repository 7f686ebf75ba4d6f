//! What the calibration of confidences is worth.

use likewise::advise::diagnosis::Diagnosis;
use likewise::advise::oracle::Oracle;
use likewise::advise::temperature::{Calibrated, LEAST, Temperature};
use likewise::eval::calibration::Calibration;
use serde::Serialize;

/// The error of calibration before and after, on labels that the temperature was not fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Calibrating {
    /// On the labels that were kept back in turn, each half by a temperature of the other half; absent where they
    /// are too few.
    pub cross_fit: Option<Calibrated>,
    /// On the labels that were hidden from all of it, if there are any and confidences were calibrated.
    pub hidden: Option<Calibrated>,
    /// What the confidences were divided by.
    #[serde(skip)]
    temperature: Option<Temperature>,
}

impl Calibrating {
    /// From what the labels that were given say, and the error `before` on those that were not, which `oracle` has
    /// after it.
    pub(super) fn of(
        diagnosis: Option<&Diagnosis>,
        before: &Calibration,
        oracle: Option<&Oracle>,
    ) -> Self {
        let temperature = diagnosis.and_then(|d| d.temperature);
        let oracle = oracle.filter(|_| temperature.is_some());
        Self {
            cross_fit: diagnosis.and_then(|d| d.calibrated),
            hidden: oracle.and_then(|o| Calibrated::between(before, &o.calibration)),
            temperature,
        }
    }

    /// In words, one line each; none where there were too few labels to calibrate by, which is warned of.
    pub fn lines(&self) -> Vec<String> {
        let Some(temperature) = &self.temperature else {
            return Vec::new();
        };
        let errors = |found: &Calibrated| {
            format!(
                "calibration error {:.3}, before {:.3}",
                found.after, found.before
            )
        };
        let fitted = format!(
            "confidences calibrated by {} labels that were kept back in turn (temperature {:.3})",
            temperature.fitted_on, temperature.value
        );
        let mut lines = vec![match &self.cross_fit {
            Some(found) => format!(
                "{fitted}: {}, each half of them by the temperature of the other",
                errors(found)
            ),
            None => format!(
                "{fitted}: too few to say how well, which takes {}",
                2 * LEAST
            ),
        }];
        if let Some(found) = &self.hidden {
            lines.push(format!(
                "on {} hidden labels: {}",
                found.labels,
                errors(found)
            ));
        }
        lines
    }
}

/// That confidences stay as they are.
pub(super) fn too_few(diagnosis: Option<&Diagnosis>) -> String {
    let tested = diagnosis.map_or(0, |d| d.calibration.measured);
    format!(
        "too few labels to calibrate the confidences: {tested} could be kept back in turn and were reached, and it takes \
         {LEAST}; they are as the method gives them"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temperature(fitted_on: usize) -> Temperature {
        Temperature {
            value: 2.5,
            fitted_on,
            before: 1.0,
            after: 0.5,
        }
    }

    #[test]
    fn what_is_said_is_what_was_measured() {
        let found = |labels, before, after| {
            Some(Calibrated {
                labels,
                before,
                after,
            })
        };
        let all = Calibrating {
            cross_fit: found(50, 0.6, 0.08),
            hidden: found(1950, 0.59, 0.0627),
            temperature: Some(temperature(50)),
        };
        assert_eq!(
            all.lines(),
            [
                "confidences calibrated by 50 labels that were kept back in turn (temperature 2.500): calibration error \
                 0.080, before 0.600, each half of them by the temperature of the other",
                "on 1950 hidden labels: calibration error 0.063, before 0.590",
            ]
        );
        let few = Calibrating {
            cross_fit: None,
            hidden: None,
            temperature: Some(temperature(12)),
        };
        let lines = few.lines();
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].ends_with("too few to say how well, which takes 20"),
            "{lines:?}"
        );
        let none = Calibrating {
            temperature: None,
            ..few
        };
        assert!(none.lines().is_empty());
        assert!(
            too_few(None)
                .contains("0 could be kept back in turn and were reached, and it takes 10")
        );
        let json = serde_json::to_value(all).unwrap();
        assert_eq!(json["cross_fit"]["labels"], 50);
        assert_eq!(json["hidden"]["before"], 0.59);
        assert!(json.get("temperature").is_none());
    }
}
