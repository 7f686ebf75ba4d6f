//! The log of a training, for other tools: a line of JSON for every step and epoch, and the
//! event file that `TensorBoard` reads.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;
use serde::{Deserialize, Serialize};

use super::trained::Epoch;
use crate::{Error, ErrorKind, Result};

const LINES: &str = "events.jsonl";
/// `TensorBoard` takes every file with `tfevents` in its name.
const RECORDS: &str = "events.out.tfevents.0.likewise";

/// The two files of one training, in a folder of its own. They grow by an epoch at a time; a
/// training that goes on from a checkpoint drops what came after it.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    /// Those of the epoch that is not written yet.
    waiting: Vec<Line>,
    /// Steps so far.
    step: u64,
    /// The epoch that is on its way.
    current: usize,
}

/// What was measured at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    /// Seconds since 1970.
    time: f64,
    epoch: usize,
    /// Steps since the beginning of the training.
    step: u64,
    #[serde(flatten)]
    values: BTreeMap<String, f64>,
}

impl Log {
    /// The log in `folder`, cut to the first `epochs` finished epochs (0 with the start not
    /// yet measured: nothing is kept).
    ///
    /// Fails where the folder cannot be written, or something else than files stands in it. Lines
    /// that cannot be read are dropped.
    pub(super) fn open(folder: PathBuf, epochs: usize) -> Result<Self> {
        let most = likewise_io::memory::allowed(None);
        let text = likewise_io::read_text(folder.join(LINES), most).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let kept: Vec<Line> = lines
            .filter(|line: &Line| epochs > 0 && line.epoch < epochs)
            .collect();
        let step = kept.last().map_or(0, |line| line.step);
        let log = Self {
            folder,
            waiting: vec![],
            step,
            current: epochs,
        };
        log.files(|folder| {
            std::fs::create_dir_all(folder)?;
            [LINES, RECORDS]
                .iter()
                .try_for_each(|name| check(&folder.join(name)))?;
            std::fs::write(folder.join(LINES), as_lines(&kept))?;
            let mut records = record(&TbEvent {
                wall_time: kept.first().map_or_else(now, |line| line.time),
                file_version: Some("brain.Event:2".into()),
                ..TbEvent::default()
            });
            records.extend(kept.iter().flat_map(Line::record));
            std::fs::write(folder.join(RECORDS), records)
        })?;
        Ok(log)
    }

    /// Notes a step; values that are no numbers are left out, as JSON has none.
    pub(super) fn step(&mut self, values: &[(&str, f64)]) {
        self.step += 1;
        let values = values.iter().map(|&(name, value)| (name, Some(value)));
        self.note(self.current, values);
    }

    /// Notes a finished epoch and writes all that was noted.
    pub(super) fn epoch(&mut self, done: &Epoch) -> Result<()> {
        self.note(
            done.epoch,
            [
                ("epoch/loss", done.loss),
                ("epoch/validation", done.validation),
                ("epoch/effective_rank", Some(done.effective_rank)),
                ("epoch/mean_cosine", Some(done.mean_cosine)),
            ],
        );
        self.current = done.epoch + 1;
        let lines = std::mem::take(&mut self.waiting);
        self.files(|folder| {
            let append = |name: &str, bytes: &[u8]| {
                let file = OpenOptions::new().append(true).open(folder.join(name));
                file.and_then(|mut file| file.write_all(bytes))
            };
            append(LINES, as_lines(&lines).as_bytes())?;
            let records: Vec<u8> = lines.iter().flat_map(Line::record).collect();
            append(RECORDS, &records)
        })
    }

    fn note<'v>(&mut self, epoch: usize, values: impl IntoIterator<Item = (&'v str, Option<f64>)>) {
        let finite = |(name, value): (&str, Option<f64>)| {
            let value = value.filter(|v| v.is_finite())?;
            Some((name.to_owned(), value))
        };
        self.waiting.push(Line {
            time: now(),
            epoch,
            step: self.step,
            values: values.into_iter().filter_map(finite).collect(),
        });
    }

    fn files(&self, work: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
        work(&self.folder).map_err(|e| {
            let at = self.folder.display();
            let what = format!("cannot write the log of a training into {at}: {e}");
            Error::new(ErrorKind::Internal, what)
        })
    }
}

impl Line {
    fn record(&self) -> Vec<u8> {
        let value = |(tag, value): (&String, &f64)| TbValue {
            tag: tag.clone(),
            simple_value: Some(*value as f32),
        };
        record(&TbEvent {
            wall_time: self.time,
            step: self.step as i64,
            file_version: None,
            summary: Some(TbSummary {
                value: self.values.iter().map(value).collect(),
            }),
        })
    }
}

/// Fails where something stands at a path that is no file: who opens a pipe waits for its reader.
fn check(path: &Path) -> std::io::Result<()> {
    if path.exists() && !path.is_file() {
        let what = format!("{} is no regular file", path.display());
        return Err(std::io::Error::other(what));
    }
    Ok(())
}

fn as_lines(lines: &[Line]) -> String {
    let line = |line: &Line| serde_json::to_string(line).unwrap_or_default() + "\n";
    lines.iter().map(line).collect()
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// Messages of `TensorBoard`'s `event.proto` and `summary.proto`, the fields that are used.
#[derive(Clone, PartialEq, Message)]
struct TbEvent {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<TbSummary>,
}

#[derive(Clone, PartialEq, Message)]
struct TbSummary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<TbValue>,
}

#[derive(Clone, PartialEq, Message)]
struct TbValue {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// A record of a `TFRecord` file: its length and its bytes, each with a masked CRC-32C.
fn record(event: &TbEvent) -> Vec<u8> {
    let masked = |bytes: &[u8]| {
        let crc = crc32c::crc32c(bytes);
        crc.rotate_right(15).wrapping_add(0xa282_ead8)
    };
    let bytes = event.encode_to_vec();
    let length = (bytes.len() as u64).to_le_bytes();
    let mut record = length.to_vec();
    record.extend(masked(&length).to_le_bytes());
    record.extend(&bytes);
    record.extend(masked(&bytes).to_le_bytes());
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(epoch: usize, loss: f64) -> Epoch {
        Epoch {
            epoch,
            loss: Some(loss),
            validation: None,
            validation_error: None,
            effective_rank: 3.0,
            mean_cosine: 0.0,
        }
    }

    /// The events of a file, every checksum compared.
    fn events(folder: &Path) -> Vec<TbEvent> {
        let bytes = std::fs::read(folder.join(RECORDS)).unwrap();
        let (mut rest, mut events) = (bytes.as_slice(), Vec::new());
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            let event = TbEvent::decode(&rest[12..12 + length]).unwrap();
            assert_eq!(record(&event), rest[..16 + length]);
            events.push(event);
            rest = &rest[16 + length..];
        }
        events
    }

    fn write(log: &mut Log, number: usize) {
        if number > 0 {
            log.step(&[("step/loss", 2.0), ("step/learning_rate", 0.0)]);
            log.step(&[("step/loss", f64::NAN), ("step/learning_rate", 0.1)]);
        }
        log.epoch(&epoch(number, 1.5)).unwrap();
    }

    #[test]
    fn both_files_hold_every_step_and_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(folder.path().into(), 0).unwrap();
        for number in 0..3 {
            write(&mut log, number);
        }
        let text = std::fs::read_to_string(folder.path().join(LINES)).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        let steps: Vec<u64> = lines.iter().map(|l| l["step"].as_u64().unwrap()).collect();
        assert_eq!(steps, [0, 1, 2, 2, 3, 4, 4]);
        assert_eq!(lines[1]["step/loss"], 2.0);
        assert!(lines[2].get("step/loss").is_none());
        let events = events(folder.path());
        assert_eq!(events[0].file_version.as_deref(), Some("brain.Event:2"));
        assert_eq!(events.len(), 1 + lines.len());
        let last = &events[7].summary.as_ref().unwrap().value;
        // Nothing is left out for being zero.
        assert_eq!(
            (last[2].tag.as_str(), last[2].simple_value),
            ("epoch/mean_cosine", Some(0.0))
        );
    }

    #[test]
    fn a_record_has_the_checksums_of_its_format() {
        // The length 24 and a first record as the reference writer has it.
        let event = TbEvent {
            wall_time: 1.0,
            file_version: Some("brain.Event:2".into()),
            ..TbEvent::default()
        };
        let bytes = record(&event);
        assert_eq!(bytes[..8], 24_u64.to_le_bytes());
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn what_came_after_a_checkpoint_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(folder.path().into(), 0).unwrap();
        for number in 0..4 {
            write(&mut log, number);
        }
        // The start and one epoch are finished.
        let mut log = Log::open(folder.path().into(), 2).unwrap();
        write(&mut log, 2);
        let steps: Vec<i64> = events(folder.path()).iter().map(|e| e.step).collect();
        assert_eq!(steps, [0, 0, 1, 2, 2, 3, 4, 4]);
        drop(Log::open(folder.path().into(), 0).unwrap());
        assert_eq!(events(folder.path()).len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        for name in [LINES, RECORDS] {
            let folder = tempfile::tempdir().unwrap();
            let pipe = folder.path().join(name);
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            if !made.is_ok_and(|status| status.success()) {
                println!("there is no mkfifo here");
                return;
            }
            let (tell, told) = std::sync::mpsc::channel();
            let path = folder.path().to_owned();
            std::thread::spawn(move || tell.send(Log::open(path, 0).map(drop)));
            let told = told.recv_timeout(std::time::Duration::from_mins(1));
            let said = told.unwrap().unwrap_err().to_string();
            assert!(said.contains("no regular file"), "{said}");
        }
    }
}
