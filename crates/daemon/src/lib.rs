//! Supervises many runs: the daemon `loopd`, its protocol and its client. Not built yet.
//! The program itself is `cli/bin/loopd.rs`, so that one `cargo install` gives all programs.
//!
//! Now `loop start` drives its own run. Later `loopd` checks a start with `host/launch` (*prepare*) and gives refusals
//! back as JSON. It then starts one process of `loop` for each run, which does all three steps: a driver catches signals
//! and adopts orphans of its whole process, so one process cannot drive two runs, and the locks of a new run cannot go
//! to another process. `loopd` itself never touches a workspace or an agent, and writes to no journal.
//!
//! How a start will go. Its socket is `loopd.sock` beside the control sockets of the runs (`host/paths.rs`:
//! `$XDG_RUNTIME_DIR/loop/`, else `run/` in the state folder), so `LOOP_HOME` chooses both. The client sends one line
//! of JSON: the `LaunchRequest` with an absolute workspace and the task as text (stdin is the client's), and its
//! folder and environment. `loopd` starts `loop` with a hidden command there: in that folder, with that environment,
//! not its own (a start over the web sends none, and gets loopd's). The request goes to the child's stdin, never into
//! argv. The child does *prepare* again, since only it has the right PATH and variables, then *create*, and writes
//! one line of JSON to its stdout: the refusal, or the id. The child is in a session of its own: SIGHUP of a terminal
//! means abort (`host/driver/run.rs`). A resume is the same with a `ResumeRequest`.
//!
//! What is there: `host/plan/child.rs` starts a program in a session of its own, with its request by stdin and one line
//! of JSON as its answer. What host lacks: that as a function of its own, and a control socket for other messages than
//! `control::Call` (`core/control.rs`, `host/control.rs`). Also to change: `host/paths.rs`, `cli/commands/loopd.rs`,
//! `start.rs`, `command_line.rs`, and `host/launch/start.rs`, `resume.rs`.
#![forbid(unsafe_code)]
