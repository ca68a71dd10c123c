//! What a loop is, with no way to touch the world.
//!
//! Rooms: [`run`] the life of one run · [`policy`] small machines that judge · [`agent`] how agents
//! are called · [`prompt`] what they are told · [`settings`] the catalogue of keys and its layers ·
//! [`view`] what people see. Nothing here reads a clock, a file, a process or the environment.
#![forbid(unsafe_code)]
pub mod agent;
pub mod changes;
pub mod control;
pub mod ended;
pub mod ids;
pub mod machine;
pub mod policy;
pub mod prompt;
pub mod refusal;
pub mod run;
pub mod settings;
pub mod tested;
pub mod text;
pub mod time;
pub mod view;
