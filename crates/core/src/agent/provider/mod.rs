//! What providers say when they refuse: the classes of failure, the wording of each vendor, when a limit ends, and
//! what is used of each.
pub mod failure;
pub mod reset;
pub mod window;
pub mod wording;
