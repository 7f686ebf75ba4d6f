//! What may be wrong with a table of numbers alone, though it can be read.

use csv::ByteRecord;
use likewise::Monitor;

use super::dialect::Dialect;
use super::lines::word;
use crate::Result;
use crate::layout::Decimal;
use crate::options::ReadOptions;
use crate::role::Role;
use crate::suspects::{Suspect, suspects};
use crate::table::{Foot, Thousands, remark_on_thousands};

/// What was seen of a table.
pub(super) struct Watch {
    suspects: Vec<Suspect>,
    foot: Foot,
    /// Where no comma stands between columns, a point may stand between thousands.
    thousands: Option<Vec<Thousands>>,
}

impl Watch {
    pub(super) fn of((names, roles): (&[String], &[Role]), dialect: Dialect) -> Self {
        let doubtful = matches!(dialect.separator, b';' | b'\t' | b'|');
        Self {
            suspects: suspects(names, roles),
            foot: Foot::default(),
            thousands: doubtful.then(|| vec![Thousands::default(); names.len()]),
        }
    }

    /// Takes a line into account.
    pub(super) fn line(&mut self, record: &ByteRecord, roles: &[Role], line: u64) {
        let shown = |(field, role): (_, &Role)| match role {
            Role::Feature => "0",
            _ => word(field, line).unwrap_or_default(),
        };
        self.foot.see(line, record.iter().zip(roles).map(shown));
    }

    /// Takes a number into account: its column, the field, and its value.
    pub(super) fn number(
        &mut self,
        place: usize,
        (field, value): (&[u8], f32),
        line: u64,
    ) -> Result<()> {
        let suspect = &mut self.suspects[place];
        if suspect.wants(value) {
            suspect.see(word(field, line)?.parse().ok())?;
        }
        if let Some(seen) = &mut self.thousands {
            seen[place].see(word(field, line)?);
        }
        Ok(())
    }

    /// Says what may be wrong; nothing of a table that is read as a fitted one was.
    pub(super) fn tell(self, names: &[String], options: &ReadOptions, monitor: &Monitor) {
        if options.layout.is_some() {
            return;
        }
        let remark = |seen: Vec<Thousands>| remark_on_thousands(names, &seen, Decimal::Point);
        if let Some(remark) = self.thousands.and_then(remark) {
            monitor.remark(remark);
        }
        let both = names.iter().zip(self.suspects);
        // Who names columns knows them.
        let both = both.filter(|_| options.table.columns.is_empty());
        let found = both.filter_map(|(name, suspect)| suspect.remark(name));
        for text in found.chain(self.foot.remark("line")) {
            monitor.warn(text);
        }
    }
}
