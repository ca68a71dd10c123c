//! Driving a plan to its end.
use loop_core::plan::{Plan, PlanEvent, PlanState};

use super::executor::PlanExecutor;
use super::folder::{plan_context, plan_processes, sweep_copies};
use super::sources::PlanSources;
use super::start::ReadyPlan;
use crate::control::Control;
use crate::driver::{Driver, Reporter};
use crate::index;
use crate::launch::DriveRefusal;
use crate::paths::Home;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{Held, RunFolder};
use crate::signals::Signals;
use crate::stop_file::StopFile;

/// A plan that was driven to its end, or to a stop.
#[derive(Debug)]
pub struct DrivenPlan {
    /// Its folder.
    pub folder: RunFolder,
    /// The final state.
    pub state: PlanState,
}

impl DrivenPlan {
    /// The exit code of the outcome.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.state.standing().map_or(3, |standing| standing.exit_code)
    }
}

/// Drives the plan to its end. The copies of a plan that has ended for good are removed.
///
/// # Errors
/// When it cannot work at all, or the journal cannot be written. Everything that was under way has been ended then.
pub fn drive_plan(
    home: &Home,
    plan: ReadyPlan,
    reporter: &mut dyn Reporter<Plan>,
) -> Result<DrivenPlan, Box<DriveRefusal>> {
    let unable = |error: &dyn std::error::Error| {
        Box::new(DriveRefusal { refusal: LaunchRefusal::of(RefusalKind::Unable, error), notes: Vec::new() })
    };
    let ReadyPlan { held, opening } = plan;
    let Held { folder, journal, state, lock: _held, claim: _workspace, .. } = held;
    let signals = Signals::listen().map_err(|error| unable(&error))?;
    let context = plan_context(home, &folder, &state).map_err(|error| unable(&error))?;
    // Without it the plan works as well, and takes no requests.
    let control = Control::listen(&folder.socket(), folder.id.as_str()).ok();
    // What a file that is read again says holds from the first order on.
    let given = if let PlanEvent::Reopened { spec: Some(spec), .. } = &opening { Some(&**spec) } else { None };
    let setting = given.or(state.spec.as_deref()).and_then(|spec| spec.stop_file.as_deref());
    let stop_file = setting.map(|path| StopFile::new(&context.workspace, path));
    let sources = PlanSources::new(signals, control, stop_file);
    let processes = plan_processes(&folder, &state, &opening).map_err(|error| unable(&error))?;
    let executor =
        PlanExecutor::new(home, folder.clone(), context).map_err(|error| unable(&error))?.with_processes(processes);
    let mut driver = Driver::<Plan, _, _>::new(journal, state, executor, sources);
    let driven = driver.run([opening], reporter);
    let state = driver.into_state();
    sweep_copies(home);
    index::note_of::<Plan>(home, &folder, &state);
    match driven {
        Ok(()) => Ok(DrivenPlan { folder, state }),
        Err(error) => {
            let refusal = LaunchRefusal::of(RefusalKind::Unable, &error)
                .because("a plan that cannot be recorded must not continue; everything under way was ended")
                .hint(format!("make room or fix the disk, then: loop resume {}", folder.id));
            Err(Box::new(DriveRefusal { refusal, notes: Vec::new() }))
        }
    }
}
