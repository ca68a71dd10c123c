//! What providers say when they refuse: the classes of failure, the wording of each vendor, and when a limit ends.
pub mod failure;
pub mod reset;
pub mod wording;
