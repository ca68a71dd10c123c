//! The gates once more, in a clean copy of a recorded tree.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `probe` | changes the copy in a way that good gates notice | run gates |
pub mod probe;
