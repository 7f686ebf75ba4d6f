//! The one error type: a kind, a message, and what to do.

use std::fmt;

/// What went wrong, coarse enough to choose an exit code or a retry by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter is outside its range, or two parameters exclude each other.
    Parameter,
    /// The data cannot be used as they are: NaN, wrong dimension, no labels ...
    Data,
    /// The result is not as good as was asked for.
    Quality,
    /// The work would need more memory than it was given.
    Memory,
    /// The caller asked to stop.
    Cancelled,
    /// A library below failed in a way that the input does not explain.
    Internal,
}

macro_rules! hints {
    ($(#[$about:meta])* pub enum Hint { $($(#[$what:meta])* $name:ident,)* }) => {
        $(#[$about])*
        pub enum Hint {
            $($(#[$what])* $name,)*
        }

        impl Hint {
            /// All of them: who words hints can be asked whether it has words for each.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

hints! {
    /// What the caller can do about an error.
    ///
    /// A library knows neither flags nor keywords: the command words a hint as a flag, Python as an
    /// argument.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Hint {
        /// Name one of several views.
        ChooseView,
        /// Give labels.
        GiveLabels,
        /// Give images, and the file of a network that reads them.
        GiveEncoder,
        /// Name the file of the network that the run was fitted with.
        NameEncoder,
        /// Leave out images that cannot be read.
        SkipBadImages,
        /// Name the folder of the data.
        NameData,
        /// Build with support of graphics cards, or use the processor.
        BuildVulkan,
        /// Build with networks.
        BuildNetworks,
        /// Build with what writes to databases.
        BuildExport,
        /// Fit a run.
        Fit,
        /// Embed the other data with the run, and measure these embeddings.
        MeasureOthers,
        /// Go on with the interrupted run.
        Resume,
        /// Finish the run that was interrupted.
        Unfinished,
        /// Replace what is there, once the new one is complete.
        Overwrite,
        /// Drop the table of a database that is there, and write it anew.
        OverwriteTable,
        /// Go on with the interrupted run, or drop it.
        ResumeOrOverwrite,
        /// Go on with the same data and settings, or drop the interrupted run.
        SameOrOverwrite,
        /// Build the index anew.
        Index,
        /// Look at the list of names.
        ListNames,
        /// Say how much memory may be used.
        LimitMemory,
    }
}

/// An error with a kind and a message for people: what, where, and what to do.
///
/// The type is opaque on purpose: messages may improve without breaking callers,
/// who decide by [`Error::kind`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<Hint>,
    /// Whether the message says where: the file, the row.
    placed: bool,
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            placed: false,
        }
    }

    /// A parameter outside its range: names the field, its value and the rule.
    ///
    /// ```
    /// let e = likewise::Error::parameter("k", 0, "must be at least 1");
    /// assert_eq!(e.to_string(), "k = 0: must be at least 1");
    /// ```
    pub fn parameter(field: &str, value: impl fmt::Display, rule: &str) -> Self {
        Self::new(ErrorKind::Parameter, format!("{field} = {value}: {rule}"))
    }

    /// Data that cannot be used as they are.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// The answer to a cancelled [`Monitor`](crate::Monitor).
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "interrupted")
    }

    /// The same error, with what can be done about it.
    ///
    /// ```
    /// use likewise::{Error, error::Hint};
    /// let e = Error::data("there are no labels").hint(Hint::GiveLabels);
    /// assert_eq!(e.what_to_do(), Some(Hint::GiveLabels));
    /// assert_eq!(e.to_string(), "there are no labels");
    /// ```
    #[must_use]
    pub fn hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The same error, said of a place: a file, a row, a part of the work. That of a
    /// cancellation stays as it is.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        if self.kind != ErrorKind::Cancelled {
            self.message = format!("{place}: {}", self.message);
            self.placed = true;
        }
        self
    }

    /// The same error of a parameter, by its path from further out: `keep` is then
    /// `learner.model.keep`. Any other error stays as it is.
    ///
    /// ```
    /// use likewise::Error;
    /// let e = Error::parameter("keep", 2, "must be below 1").under("head.");
    /// assert_eq!(e.to_string(), "head.keep = 2: must be below 1");
    /// ```
    #[must_use]
    pub fn under(mut self, path: &str) -> Self {
        if self.kind == ErrorKind::Parameter {
            self.message.insert_str(0, path);
        }
        self
    }

    /// The same error, whose message says where already.
    #[must_use]
    pub fn placed(mut self) -> Self {
        self.placed = true;
        self
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What can be done about it, where that is known.
    pub fn what_to_do(&self) -> Option<Hint> {
        self.hint
    }

    /// Whether the message says where it went wrong.
    pub fn is_placed(&self) -> bool {
        self.placed
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_knows_its_place_and_a_cancellation_needs_none() {
        let e = Error::data("no labels").hint(Hint::GiveLabels);
        assert!(!e.is_placed());
        let e = e.within("items.csv");
        assert_eq!(e.to_string(), "items.csv: no labels");
        assert!(e.is_placed() && e.what_to_do() == Some(Hint::GiveLabels));
        assert_eq!(Error::cancelled().within("x").to_string(), "interrupted");
    }
}
