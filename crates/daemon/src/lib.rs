//! Supervises many runs: the daemon `loopd`, its protocol and its client. Not built yet.
//!
//! Now `loop start` drives its own run. Later `loopd` starts the same hidden command for `--background`, one process for
//! each run. It never touches a workspace, an agent or a journal itself.
#![forbid(unsafe_code)]
