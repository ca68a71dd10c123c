//! Which folder the workspace is, and files of ours in it.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use loop_host::workspace::{FilePlace, WorkspaceIdentity, WorkspaceReplaced, place_of, write_own_file};
use tempfile::TempDir;

/// A folder with a workspace in it.
fn ground() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let workspace = scratch.path().canonicalize().unwrap().join("work");
    fs::create_dir(&workspace).unwrap();
    (scratch, workspace)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_workspace_is_known_by_its_folder_and_not_by_its_path() {
    // req: RT-R1
    let (_scratch, work) = ground();
    let (old, path) = (work.with_file_name("old"), text(&work));
    let identity = WorkspaceIdentity::of(&work, None);
    fs::write(work.join("new"), "content").unwrap();
    assert_eq!(identity.check(), Ok(()), "what is in it may change");
    fs::rename(&work, &old).unwrap();
    assert_eq!(identity.check(), Err(WorkspaceReplaced::Moved { path: path.clone(), to: text(&old) }));
    fs::create_dir(&work).unwrap();
    let another = |as_what| WorkspaceReplaced::Another { path: path.clone(), as_what, lies: Some(text(&old)) };
    assert_eq!(identity.check(), Err(another("")));
    let said = identity.check().unwrap_err().to_string();
    assert!(
        said.ends_with(&format!("put it back: mv {path} {path}.replaced && mv {} {path}", old.display())),
        "{said}"
    );
    fs::remove_dir(&work).unwrap();
    symlink(&old, &work).unwrap();
    assert_eq!(identity.check(), Err(another(" (a link)")), "also where it leads to the same folder");
    fs::remove_file(&work).unwrap();
    fs::rename(&old, &work).unwrap();
    assert_eq!(identity.check(), Ok(()), "it was put back");
    fs::remove_dir_all(&work).unwrap();
    assert_eq!(identity.check(), Err(WorkspaceReplaced::Deleted { path: path.clone() }));
    fs::create_dir(&work).unwrap();
    assert_eq!(identity.check(), Err(WorkspaceReplaced::Another { path, as_what: "", lies: None }));
}

#[test]
fn a_path_leads_through_links_of_the_user_and_through_none_of_the_workspace() {
    // req: RT-R10
    let (_scratch, work) = ground();
    let root = work.parent().unwrap();
    fs::create_dir(work.join("plain")).unwrap();
    fs::create_dir(root.join("elsewhere")).unwrap();
    symlink("elsewhere", root.join("mine")).unwrap();
    symlink("work", root.join("to-work")).unwrap();
    symlink("../elsewhere", work.join("planted")).unwrap();
    symlink("work/planted", root.join("through")).unwrap();
    let inside = |path: &str| Some(FilePlace::Inside(path.into()));
    let outside = |path: &str| Some(FilePlace::Outside(root.join(path)));
    for (path, expected) in [
        ("work/r.json", inside("r.json")),
        ("work/plain/../plain/r.json", inside("plain/r.json")),
        ("to-work/plain/r.json", inside("plain/r.json")),
        ("mine/r.json", outside("elsewhere/r.json")),
        ("work/../r.json", outside("r.json")),
        ("work/planted/r.json", None),
        ("work/planted", None),
        ("to-work/planted/r.json", None),
        ("through/r.json", None),
        ("work/none/r.json", None),
    ] {
        assert_eq!(place_of(&work, &root.join(path)).ok(), expected, "{path}");
    }
}

#[test]
fn a_file_of_ours_is_written_whole_into_the_workspace_and_into_no_other_folder() {
    // req: RT-R10
    let (_scratch, work) = ground();
    let identity = WorkspaceIdentity::of(&work, None);
    let file = work.join("r.json");
    for text in ["first", "second"] {
        write_own_file(&identity, &file, text).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let precious = work.with_file_name("precious");
    fs::write(&precious, "text").unwrap();
    fs::hard_link(&precious, work.join("hard")).unwrap();
    write_own_file(&identity, &work.join("hard"), "new").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "text", "a second name is replaced, not written through");
    fs::rename(&work, work.with_file_name("old")).unwrap();
    fs::create_dir(&work).unwrap();
    let why = write_own_file(&identity, &file, "third").unwrap_err().to_string();
    assert!(why.contains("is another folder now"), "{why}");
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}
