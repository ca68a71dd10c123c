//! The rules of a loop, without any access to the machine.
//!
//! Rooms: [`run`] the life of one run · [`plan`] several runs for one goal · [`policy`] pure judgements · [`agent`] how
//! agents are called and read · [`prompt`] what they are asked · [`test_output`] what a gate's output says about tests ·
//! [`project`] what a project has to check it · [`template`] tasks and settings under a name · [`settings`] the
//! catalogue of keys and its layers · [`view`] what people see · [`attestation`] a proof to hand over · [`workflow`]
//! files with several loops · [`import`] files of other tools · [`list`] lists of work · [`machine`] what every machine has · [`redaction`]
//! texts without secrets · [`control`] the messages of a run's socket. Below them, used by all: [`ended`] [`changes`]
//! [`text`] [`time`] [`ids`] [`refusal`]. A room uses only rooms below it: [`plan`] uses [`run`], [`run`] uses [`agent`]
//! and [`policy`], never the other way round. Nothing here reads a clock, a file, a process or the environment.
#![forbid(unsafe_code)]
pub mod agent;
pub mod attestation;
pub mod changes;
pub mod control;
pub mod ended;
pub mod ids;
pub mod import;
pub mod list;
pub mod machine;
pub mod plan;
pub mod policy;
pub mod project;
pub mod prompt;
pub mod redaction;
pub mod refusal;
pub mod replay;
pub mod run;
pub mod settings;
pub mod template;
pub mod test_output;
pub mod text;
pub mod time;
pub mod view;
pub mod workflow;
