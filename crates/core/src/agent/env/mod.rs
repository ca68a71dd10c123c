//! Which variables an agent gets, and how secret values are taken out of what it prints.
pub mod catalogue;
pub mod environment;
pub mod secrets;
