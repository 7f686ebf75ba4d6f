//! Files as users have them: golden ones, real ones, damaged ones, and what is no file.

mod bombs;
mod diagnosis;
mod frames;
mod golden;
mod real;
#[cfg(unix)]
mod special;
mod tables;
