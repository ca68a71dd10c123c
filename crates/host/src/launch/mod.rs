//! Starting and resuming a run, as a library: for the command line, for `loopr`, for the demo, and for a daemon.
//!
//! ```text
//! start:   prepare(request)          → Prepared     → create → ReadyRun → drive → DrivenRun, with the final state
//! resume:  prepare_resume(request)   → PreparedResume → reopen → ReadyRun → drive
//! offline: carry_out_request(event)  → RequestOutcome, for a run that has no driver
//! ```
//!
//! An error is returned as a [`LaunchRefusal`](crate::refusal::LaunchRefusal). Questions to a person go to the
//! [`LaunchCaller`], and so do notes. Nothing here prints, and nothing reads stdin.
//!
//! | file | topic |
//! |---|---|
//! | `start.rs`, `resume.rs`, `drive.rs`, `offline.rs` | the steps above |
//! | `accept.rs`, `person.rs` | a person accepts a pass that was not verified; who counts as one |
//! | `caller.rs` | questions, answers, notes |
//! | `settings.rs`, `approval.rs` | layers to settings; approval of a project's file |
//! | `template.rs` | the template of a start: its layer, and the task that it makes |
//! | `task.rs`, `agent.rs`, `gates.rs`, `container.rs`, `checks.rs`, `worker.rs` | one check each |
//! | `rehearse.rs` | a dry run: the gates once each |
//! | `leash.rs` | which runs get a long leash |
//! | `leftovers.rs`, `disk_limits.rs`, `result_file.rs` | what killed runs left; limits on disk; the result file |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | run in the background | the plan: `daemon/lib.rs`; from a folder to a driver: `host/launch/` |
//! | change the long leash | `host/launch/leash.rs`, `core/settings/catalogue/leash.rs` |
mod accept;
mod agent;
mod approval;
mod caller;
mod checks;
mod container;
mod disk_limits;
mod drive;
mod gates;
mod leash;
mod leftovers;
mod offline;
pub(crate) mod person;
mod rehearse;
mod result_file;
mod resume;
mod settings;
mod start;
mod task;
mod template;
mod worker;

pub use self::accept::accept;
pub use self::approval::{GivenApproval, approve_written, approved_project, check_person};
pub use self::caller::{LaunchAnswers, LaunchCaller, LaunchNote, LaunchQuestion, NoteLevel, PersonAnswer};
pub(crate) use self::checks::{check_no_stop_file, clear_stop};
pub use self::container::{LaunchContainer, end_container};
pub use self::disk_limits::records_max;
pub use self::drive::{DriveRefusal, DrivenRun, ReadyRun, drive};
pub use self::gates::GateWarning;
pub use self::leftovers::{end_orphans, end_registered};
pub use self::offline::{RequestOutcome, carry_out_request, inject, note, set};
pub use self::rehearse::{RehearsedStart, rehearse_start};
pub use self::resume::{PreparedResume, ResumableRun, ResumeRequest, prepare_resume, reopen};
pub use self::settings::{own_settings, resolve};
pub use self::start::{LaunchRequest, PlanLaunch, Prepared, check_not_claimed, create, prepare};
pub use self::task::TaskSource;
pub use self::task::prompt as read_prompt;
pub use self::template::{layer_without_questions, template_with_phases};
pub use self::worker::{close_breaker, newest_run};
