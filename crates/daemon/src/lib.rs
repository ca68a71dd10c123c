//! Supervises many runs: the daemon `loopd`, its protocol and its client. Not built yet.
//!
//! Now `loop start` drives its own run. Later `loopd` checks a start with `host/launch` (*prepare*) and gives refusals
//! back as JSON. It then starts one process of `loop` for each run, which does *create* and *drive*: a driver catches
//! signals and adopts orphans of its whole process, so one process cannot drive two runs, and the locks of a new run
//! cannot go to another process. `loopd` itself never touches a workspace or an agent, and writes to no journal.
#![forbid(unsafe_code)]
