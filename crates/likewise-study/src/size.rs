//! Sizes in bytes, as people write them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, written as 500MB, 4GiB or 4G.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(
    /// So many.
    pub u64,
);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text[digits.len()..].to_ascii_lowercase();
        let factor: f64 = match unit.as_str() {
            "" | "b" => 1.0,
            "kb" => 1e3,
            "k" | "kib" => 1024.0,
            "mb" => 1e6,
            "m" | "mib" => 1024.0 * 1024.0,
            "gb" => 1e9,
            "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
            "tb" => 1e12,
            "t" | "tib" => 1024.0_f64.powi(4),
            _ => {
                return Err(format!(
                    "\"{unit}\" is not a unit; write e.g. 500MB or 4GiB"
                ));
            }
        };
        let number: f64 = digits
            .trim()
            .parse()
            .map_err(|_| format!("\"{text}\" is not a size; write e.g. 500MB or 4GiB"))?;
        if !(number.is_finite() && number > 0.0) {
            return Err("must be above 0".into());
        }
        Ok(Self((number * factor) as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        write!(f, "{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!("4GiB".parse(), Ok(Bytes(4 << 30)));
        assert_eq!("1.5k".parse(), Ok(Bytes(1536)));
        assert_eq!("500MB".parse(), Ok(Bytes(500_000_000)));
        assert_eq!("7".parse(), Ok(Bytes(7)));
        for wrong in ["", "GiB", "4 furlongs", "-1G", "0"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
    }
}
